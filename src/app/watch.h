// Watch: what the daemon lets others see of it: metrics, /healthz and /readyz. It listens to the relay and reads its
// views; the relay does not know it.
//
// Thread: any; the server and the relay call it from theirs.
#pragma once

#include <memory>

#include "base/result.h"
#include "config/settings.h"
#include "relay/runner.h"

namespace outbox::app {

class RelayService;

class Watch : public RelayObserver {
 public:
  explicit Watch(const config::Settings& settings);
  ~Watch() override;

  // Starts the admin server where the settings name an address. Ready only once a relay is attached and well.
  Result<void> listen();
  void attach(RelayService& service);
  void detach();

  // Table-wide figures, refreshed in the background; a scrape never touches the database.
  void figures(const StoreStatus& status);

  void confirmed(const std::string& sink, Duration since_created, Duration since_published) override;
  void attempted(const std::string& sink, Verdict verdict) override;
  void dead(const std::string& sink, const std::string& reason) override;
  void polled(Duration took) override;
  void breaker_changed(const std::string& sink, BreakerState to) override;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace outbox::app
