#include "app/forwarding_role.h"

#include <algorithm>
#include <random>

#include "base/log.h"
#include "relay/sharing.h"

namespace outbox::app {

namespace {

bool is_own(const Roster& roster, const std::string& relay) {
  const bool owned = std::any_of(roster.shares.begin(), roster.shares.end(), [&](const Share& share) {
    return share.feed == kForwardingFeed && share.owner == relay;
  });
  return owned || !next_moves(roster, relay, kForwardingFeed, false).empty();
}

}  // namespace

ForwardingRole::ForwardingRole(const RelayParts& parts, const std::string& relay, std::shared_ptr<const Lease> lease)
    : parts_(parts),
      sink_(sink_settings(parts.settings, parts.settings.forward->sink)),
      relay_(relay),
      lease_(std::move(lease)) {}

Result<void> ForwardingRole::check() const {
  const auto sink = parts_.sinks.make(sink_);
  if (!sink) return sink.failure();
  const bool routed = std::any_of(parts_.settings.routes.begin(), parts_.settings.routes.end(),
                                  [&](const auto& route) { return route.sink == sink_.name; });
  if (routed && (*sink)->capabilities().one_writer) {
    return Failure{FailureKind::invalid, "dead_letters.forward.sink: " + sink_.name +
                                             " can have one writer only, and routes name it, too: give the dead "
                                             "letters a sink of their own"};
  }
  return {};
}

Result<void> ForwardingRole::follow(const Roster& roster) {
  if (forwarder_ && forwarder_->end() == RunnerEnd::failed) return forwarder_->failure();
  if (forwarder_ && forwarder_->end() == RunnerEnd::fenced) {
    log::warn("another relay forwards the dead letters now", {{"why", forwarder_->failure().what}});
    forwarder_.reset();
  }
  if (forwarder_ || !is_own(roster, relay_)) return {};
  return start();
}

Result<void> ForwardingRole::start() {
  auto sink = parts_.sinks.make(sink_);
  if (!sink) return sink.failure();
  ForwarderOptions options;
  options.relay = relay_;
  options.sink = sink_.name;
  options.route.sink = sink_.name;
  options.route.address = parts_.settings.forward->address;
  options.route.escape = parts_.sinks.escape(sink_);
  options.retry = retry_policy(sink_.retry);
  options.drain_timeout = parts_.settings.drain_timeout;
  options.seed = std::random_device()();
  options.lease = lease_;
  Forwarder::Hooks hooks{
      [this](const Forwarded& each) { parts_.observer.forwarded(sink_.name, !each.refusal.empty()); },
      [this](std::int64_t left) { parts_.observer.unforwarded(left); },
      [this](Verdict verdict) { parts_.observer.attempted(sink_.name, verdict); },
      [this](BreakerState to) { parts_.observer.breaker_changed(sink_.name, to); }};
  forwarder_ = std::make_unique<Forwarder>(parts_.database.make_forwarding(), *std::move(sink), std::move(options),
                                           std::move(hooks));
  forwarder_->pause(paused_);
  return forwarder_->start();
}

std::optional<SinkView> ForwardingRole::view() const {
  return forwarder_ ? std::optional(forwarder_->view()) : std::nullopt;
}

void ForwardingRole::pause(bool paused) {
  paused_ = paused;
  if (forwarder_) forwarder_->pause(paused);
}

void ForwardingRole::stop() {
  if (forwarder_) forwarder_->stop();
}

}  // namespace outbox::app
