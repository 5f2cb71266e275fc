// The rules that a user can set: retry and breaker policies, and the routes. Values and pure functions.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "model/record.h"
#include "relay/clock.h"

namespace outbox {

// Capped exponential backoff with full jitter: uniform in (0, min(cap, base · 2^(attempt-1))], never below
// kBackoffFloor. Saturates: any attempt number is fine. Source: Brooker, "Exponential Backoff And Jitter".
struct RetryPolicy {
  Duration base{1s};
  Duration cap{30s};
  int attempts = 8;               // charged tries before a message is dead
  std::optional<Duration> age{};  // and so is one that fails this long after its first charged try
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
// A probe cannot leak: it ends by succeeded(), failed(), released() or wait_until(), whatever became of it.
class Breaker {
 public:
  explicit Breaker(BreakerPolicy policy) : policy_(policy) {}

  // Half-open as soon as the open time is over, although nobody has probed yet.
  BreakerState state_at(SteadyTime now) const;
  // May one message be published now? In half-open one only; the caller says so by probe_started().
  bool admits(SteadyTime now) const;
  // Not before this: the end of the open time, or what wait_until() asked for.
  SteadyTime closed_until() const { return std::max(closed_until_, asked_until_); }

  void probe_started();
  void succeeded();
  // An uncharged failure. While the breaker is not closed only the probe's counts: what was published before it opened
  // changes nothing.
  void failed(SteadyTime now, bool probe);
  // The probe came back without a word on the destination: a message's own fault, or a stop.
  void released();
  // The far side said how long to wait (429, Retry-After): no traffic until then, whatever else still succeeds; no
  // failure counted.
  void wait_until(SteadyTime until);

 private:
  BreakerPolicy policy_;
  BreakerState state_ = BreakerState::closed;
  int failures_ = 0;
  int openings_ = 0;
  bool probing_ = false;
  SteadyTime closed_until_{};
  SteadyTime asked_until_{};
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
  // How the value of a {field} is written into the address (SinkType::escape_field); null: as it is.
  std::string (*escape)(std::string_view value) = nullptr;
};

// The route's address with each {field} filled: aggregate_type, aggregate_id, type, id. nullopt: a field is unknown
// (lint refuses it first).
std::optional<std::string> expand(const Route& route, const Record& record);

// Every sink whose route matches gets the message once; per sink the first match counts. A message that no route
// matches is dead as no_route, in the deliveries of the feed's first sink.
class Router {
 public:
  explicit Router(std::vector<Route> routes) : routes_(std::move(routes)) {}

  // The first route of `sink` that matches, or null.
  const Route* match(const std::string& sink, const Record& record) const;
  // True if some route matches, of whatever sink, "none" included.
  bool matches_any(const Record& record) const;
  // True if all messages of `sink` go to one destination, so that its breaker is the sink's. `fields_lead_elsewhere`:
  // as the sink's Capabilities say.
  bool single_destination(const std::string& sink, bool fields_lead_elsewhere) const;

 private:
  std::vector<Route> routes_;
};

}  // namespace outbox
