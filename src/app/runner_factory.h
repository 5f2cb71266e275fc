// RunnerFactory: makes the runner of one share of a feed, as the settings say. It knows no kind of sink: those come
// from whoever runs the relay, the daemon or a program that embeds one.
//
// Thread: one at a time.
#pragma once

#include <functional>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "app/database.h"
#include "config/settings.h"
#include "relay/runner.h"

namespace outbox::app {

// How the sinks that the settings name are made.
struct SinkMaker {
  // Fails on bad options; connects to nothing.
  std::function<Result<std::unique_ptr<Sink>>(const config::SinkSettings&)> make;
  // See Route::escape.
  using Escape = std::string (*)(std::string_view value);
  std::function<Escape(const config::SinkSettings&)> escape;
};

// True where several relays can divide the feed. Fails on bad options of its sinks.
Result<bool> can_be_divided(const Feed& feed, const config::Settings& settings, const Database& database,
                            const SinkMaker& sinks);

// What a relay is made of. All of it outlives the relay.
struct RelayParts {
  const config::Settings& settings;
  const Database& database;
  const SinkMaker& sinks;
  RelayObserver& observer;
};

// Of the sink of that name: that there is one is loading's care.
const config::SinkSettings& sink_settings(const config::Settings& settings, const std::string& name);
RetryPolicy retry_policy(const config::RetrySettings& settings);

class RunnerFactory {
 public:
  explicit RunnerFactory(const RelayParts& parts);

  const std::vector<Feed>& feeds() const { return feeds_; }
  Result<bool> divisible(const Feed& feed) const {
    return can_be_divided(feed, parts_.settings, parts_.database, parts_.sinks);
  }
  Result<std::unique_ptr<Runner>> make(const Feed& feed, const Lanes& lanes, const std::string& relay,
                                       std::shared_ptr<const Lease> lease, std::function<void()> on_end);

 private:
  const RelayParts parts_;
  const std::vector<Feed> feeds_;
  std::shared_ptr<const Router> router_;
  std::random_device entropy_;
};

}  // namespace outbox::app
