// RunnerFactory: makes the runner of one share of a feed, as the settings say.
//
// Thread: one at a time.
#pragma once

#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "app/database.h"
#include "config/settings.h"
#include "relay/runner.h"

namespace outbox::app {

class RunnerFactory {
 public:
  // All of them outlive the factory.
  RunnerFactory(const config::Settings& settings, const Database& database, RelayObserver& observer);

  const std::vector<Feed>& feeds() const { return feeds_; }
  // True where several relays can divide the feed. Fails on bad options of its sinks.
  Result<bool> divisible(const Feed& feed) const;
  Result<std::unique_ptr<Runner>> make(const Feed& feed, const Lanes& lanes, const std::string& relay,
                                       std::shared_ptr<const Lease> lease, std::function<void()> on_end);

 private:
  const config::Settings& settings_;
  const Database& database_;
  RelayObserver& observer_;
  const std::vector<Feed> feeds_;
  std::shared_ptr<const Router> router_;
  std::random_device entropy_;
};

}  // namespace outbox::app
