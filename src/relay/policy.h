// The rules that a user can set: retry and breaker policies, and the routes. Values and pure functions.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "base/time.h"
#include "model/record.h"

namespace outbox {

// Capped exponential backoff with full jitter: uniform in (0, min(cap, base · 2^(attempt-1))], never below `floor`.
// Saturates: any attempt number is fine. Source: Brooker, "Exponential Backoff And Jitter".
struct RetryPolicy {
  Duration base{1s};
  Duration cap{30s};
  int attempts = 8;  // charged tries before a message is dead
};
inline constexpr Duration kBackoffFloor{10ms};

using Random = std::mt19937_64;

Duration backoff_ceiling(Duration base, Duration cap, int attempt);
Duration full_jitter(Duration base, Duration cap, int attempt, Random& random);

struct BreakerPolicy {
  int failures = 5;   // in a row, uncharged
  Duration open{5s};  // first open time, doubled at each failed probe
  Duration cap{1min};
};

enum class BreakerState { closed, open, half_open };
std::string_view to_string(BreakerState state);

// Closed → (failures in a row) → open → (time) → half-open → one probe → closed, or open for twice as long.
// A probe that never reports cannot leak: half-open ends by succeeded(), failed() or released().
class Breaker {
 public:
  explicit Breaker(BreakerPolicy policy) : policy_(policy) {}

  BreakerState state() const { return state_; }
  Time open_until() const { return open_until_; }
  // May one message be published now? In half-open only one; the caller marks it with probe_started().
  bool admits(Time now) const;
  void probe_started();

  void succeeded();
  void failed(Time now, Duration at_least, Random& random);
  // The probe came back without saying anything about the destination (a message's own fault, a stop).
  void released(Time now);
  // The far side said how long to wait (429, Retry-After): closed to traffic until then, no failure counted.
  void wait_until(Time until);

 private:
  BreakerPolicy policy_;
  BreakerState state_ = BreakerState::closed;
  int failures_ = 0;
  int openings_ = 0;
  bool probing_ = false;
  Time open_until_{};
};

// A route as the configuration gives it, resolved.
struct Route {
  std::string sink;                           // "none": matches and sends nowhere
  std::optional<std::string> aggregate_type;  // exact match; absent: any
  std::optional<std::string> type;
  std::string address;  // template: "outbox.event.{aggregate_type}"
  std::string owner;
  std::optional<RetryPolicy> retry;
  bool dead_letter_holds_key = false;
};

// Fills {field} of a message: aggregate_type, aggregate_id, type, id. nullopt: a field is unknown (lint refuses it
// first).
std::optional<std::string> expand(const std::string& address, const Record& record);

// Every sink whose route matches gets the message once; per sink the first match counts. A message that no route
// matches is dead as no_route, in the deliveries of the feed's first sink.
class Router {
 public:
  explicit Router(std::vector<Route> routes) : routes_(std::move(routes)) {}

  // The first route of `sink` that matches, or null.
  const Route* match(const std::string& sink, const Record& record) const;
  // True if some route matches, of whatever sink, "none" included.
  bool matches_any(const Record& record) const;
  // True if all messages of `sink` go to one destination, so that its breaker is the sink's.
  bool single_destination(const std::string& sink) const;

 private:
  std::vector<Route> routes_;
};

}  // namespace outbox
