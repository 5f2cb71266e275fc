#include "app/watch.h"

namespace outbox::app {

class Watch::State {};

Watch::Watch(const config::Settings&) {}
Watch::~Watch() = default;
Result<void> Watch::listen() { return {}; }
void Watch::attach(RelayService&) {}
void Watch::detach() {}
void Watch::figures(const StoreStatus&) {}
void Watch::confirmed(const std::string&, Duration, Duration) {}
void Watch::attempted(const std::string&, Verdict) {}
void Watch::dead(const std::string&, const std::string&) {}
void Watch::polled(Duration) {}
void Watch::breaker_changed(const std::string&, BreakerState) {}

}  // namespace outbox::app
