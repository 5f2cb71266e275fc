#include "admin/relay_metrics.h"

#include <algorithm>

namespace outbox {

namespace {

constexpr Verdict kVerdicts[] = {Verdict::delivered, Verdict::rejected, Verdict::busy, Verdict::unknown,
                                 Verdict::client_dead};
constexpr BreakerState kBreakerStates[] = {BreakerState::closed, BreakerState::open, BreakerState::half_open};

double seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }
double seconds(Time time) { return seconds(time.time_since_epoch()); }
double seconds(const std::optional<Time>& time) { return time ? seconds(*time) : 0; }

std::optional<Time> earlier(const std::optional<Time>& a, const std::optional<Time>& b) {
  if (!a || !b) return a ? a : b;
  return std::min(*a, *b);
}

}  // namespace

std::string_view to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::delivered: return "delivered";
    case Verdict::rejected: return "rejected";
    case Verdict::busy: return "busy";
    case Verdict::unknown: return "unknown";
    case Verdict::client_dead: return "client_dead";
  }
  return "?";
}

RelayMetrics::RelayMetrics(Metrics& metrics, std::span<const std::string> sinks)
    : metrics_(metrics),
      poll_(metrics.histogram(metric::kPollSeconds)),
      lease_lost_(metrics.counter(metric::kLeaseLost)) {
  for (const std::string& sink : sinks) sinks_.emplace(sink, make_series(sink));
  metrics.gauge(metric::kBuildInfo, {{"version", OUTBOX_VERSION}}).set(1);
}

RelayMetrics::SinkSeries RelayMetrics::make_series(const std::string& sink) {
  const MetricLabels labels{{"sink", sink}};
  const auto with = [&](const char* name, std::string_view value) {
    return MetricLabels{{"sink", sink}, {name, std::string(value)}};
  };
  SinkSeries made{{},
                  metrics_.counter(metric::kDuplicates, labels),
                  {},
                  {},
                  metrics_.histogram(metric::kDeliverySeconds, labels),
                  metrics_.histogram(metric::kPublishSeconds, labels),
                  metrics_.gauge(metric::kInFlight, labels),
                  metrics_.gauge(metric::kDeliveries, with("state", "waiting")),
                  metrics_.gauge(metric::kDeliveries, with("state", "dead")),
                  metrics_.gauge(metric::kLastDelivery, labels),
                  metrics_.gauge(metric::kOldestDue, labels),
                  metrics_.gauge(metric::kPaused, labels),
                  metrics_.gauge(metric::kWaitingForDestination, labels),
                  metrics_.gauge(metric::kAtCap, labels),
                  metrics_.gauge(metric::kHeldDestinations, labels),
                  {{"", metrics_.gauge(metric::kDeadLetters, with("owner", ""))}}};
  for (const Verdict verdict : kVerdicts) {
    made.attempts.emplace(verdict, metrics_.counter(metric::kAttempts, with("outcome", to_string(verdict))));
  }
  for (const BreakerState state : kBreakerStates) {
    made.breaker.emplace(state, metrics_.gauge(metric::kBreakerState, with("state", to_string(state))));
    made.transitions.emplace(state, metrics_.counter(metric::kBreakerTransitions, with("state", to_string(state))));
  }
  return made;
}

RelayMetrics::SinkSeries& RelayMetrics::series(const std::string& sink) {
  const auto found = sinks_.find(sink);
  OUTBOX_ASSERT(found != sinks_.end());
  return found->second;
}

void RelayMetrics::confirmed(const std::string& sink, Duration since_created, Duration since_published) {
  SinkSeries& of_sink = series(sink);
  of_sink.delivery.observe(seconds(since_created));
  of_sink.publish.observe(seconds(since_published));
}

void RelayMetrics::attempted(const std::string& sink, Verdict verdict) {
  series(sink).attempts.at(verdict).add();
  if (verdict == Verdict::delivered) return;
  const std::lock_guard lock(mutex_);
  failed_at_[sink] = std::chrono::steady_clock::now();
}

void RelayMetrics::duplicate(const std::string& sink) { series(sink).duplicates.add(); }

std::chrono::steady_clock::time_point RelayMetrics::last_failure(const std::string& sink) const {
  const std::lock_guard lock(mutex_);
  const auto found = failed_at_.find(sink);
  return found == failed_at_.end() ? std::chrono::steady_clock::time_point{} : found->second;
}

void RelayMetrics::dead(const std::string& sink, const std::string& reason) {
  metrics_.counter(metric::kDead, {{"sink", sink}, {"reason", reason}}).add();
}

void RelayMetrics::polled(Duration took) { poll_.observe(seconds(took)); }

void RelayMetrics::breaker_changed(const std::string& sink, BreakerState to) { series(sink).transitions.at(to).add(); }

void RelayMetrics::forwarded(const std::string& sink, bool refused) {
  metrics_.counter(metric::kForwarded, {{"sink", sink}, {"outcome", refused ? "refused" : "delivered"}}).add();
}

void RelayMetrics::unforwarded(std::int64_t count) {
  metrics_.gauge(metric::kUnforwarded).set(static_cast<double>(count));
}

void RelayMetrics::refresh_leases(int lanes_owned, std::uint64_t lost) {
  metrics_.gauge(metric::kLanesOwned).set(lanes_owned);
  for (; leases_lost_ < lost; ++leases_lost_) lease_lost_.add();
}

void RelayMetrics::refresh(std::span<const FeedView> feeds) {
  std::optional<Time> last_poll;
  std::map<std::string, const SinkView*> views;
  for (const FeedView& feed : feeds) {
    last_poll = earlier(last_poll, feed.last_poll);
    for (const SinkView& view : feed.sinks) views[view.name] = &view;
  }
  for (auto& [name, of_sink] : sinks_) {
    const auto found = views.find(name);
    show(of_sink, found == views.end() ? nullptr : found->second);
  }
  if (last_poll && *last_poll != kNever) metrics_.gauge(metric::kLastPoll).set(seconds(*last_poll));
}

// Null: this relay does nothing for the sink, or no more.
void RelayMetrics::show(SinkSeries& of_sink, const SinkView* view) {
  for (auto& [state, gauge] : of_sink.breaker) gauge.set(view != nullptr && state == view->breaker ? 1 : 0);
  of_sink.in_flight.set(view == nullptr ? 0 : static_cast<double>(view->in_flight));
  of_sink.held_destinations.set(view == nullptr ? 0 : static_cast<double>(view->held_destinations));
  if (view == nullptr) return;
  of_sink.last_delivery.set(seconds(view->last_delivery));
  of_sink.at_cap.set(view->at_cap ? 1 : 0);
}

// An owner whose dead letters are all gone stays, at 0: an alert on it ends.
void RelayMetrics::refresh_owners(const std::string& sink, const std::map<std::string, std::int64_t>& dead_by_owner) {
  auto& gauges = series(sink).dead_of_owner;
  for (const auto& [owner, count] : dead_by_owner) {
    const auto found = gauges.find(owner);
    if (found != gauges.end()) continue;
    gauges.emplace(owner, metrics_.gauge(metric::kDeadLetters, {{"sink", sink}, {"owner", owner}}));
  }
  for (auto& [owner, gauge] : gauges) {
    const auto found = dead_by_owner.find(owner);
    gauge.set(found == dead_by_owner.end() ? 0 : static_cast<double>(found->second));
  }
}

void RelayMetrics::refresh(std::span<const FeedStatus> feeds) {
  std::int64_t unsent = 0;
  std::optional<Time> oldest_unsent;
  for (const FeedStatus& each : feeds) {
    unsent = std::max(unsent, each.status.unsent);
    oldest_unsent = earlier(oldest_unsent, each.status.oldest_unsent);
    for (const std::string& sink : each.feed.sinks) {
      SinkSeries& of_sink = series(sink);
      const auto found = each.status.sinks.find(sink);
      const SinkStatus stored = found == each.status.sinks.end() ? SinkStatus{} : found->second;
      of_sink.waiting.set(static_cast<double>(stored.parked.waiting));
      of_sink.dead.set(static_cast<double>(stored.parked.dead));
      of_sink.oldest_due.set(seconds(earlier(stored.oldest_waiting, each.status.oldest_unsent)));
      of_sink.waiting_for_destination.set(static_cast<double>(stored.parked.uncharged));
      refresh_owners(sink, stored.dead_by_owner);
    }
  }
  // Also of the sink of dead letters, which no feed has to have.
  for (auto& [name, of_sink] : sinks_) {
    const bool paused = std::any_of(feeds.begin(), feeds.end(), [&, &sink = name](const FeedStatus& each) {
      const auto found = each.status.sinks.find(sink);
      return found != each.status.sinks.end() && found->second.pause;
    });
    of_sink.paused.set(paused ? 1 : 0);
  }
  metrics_.gauge(metric::kUnsentRows).set(static_cast<double>(unsent));
  metrics_.gauge(metric::kOldestUnsent).set(seconds(oldest_unsent));
}

}  // namespace outbox
