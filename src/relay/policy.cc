#include "relay/policy.h"

#include <algorithm>

namespace outbox {

Duration backoff_ceiling(Duration base, Duration cap, int attempt) {
  Duration ceiling = std::max(base, kBackoffFloor);
  for (int i = 1; i < attempt && ceiling < cap; ++i) {
    ceiling = ceiling > cap / 2 ? cap : ceiling * 2;
  }
  return std::min(ceiling, std::max(cap, kBackoffFloor));
}

Duration full_jitter(Duration base, Duration cap, int attempt, Random& random) {
  const auto ceiling = backoff_ceiling(base, cap, attempt).count();
  std::uniform_int_distribution<Duration::rep> pick(kBackoffFloor.count(), std::max(ceiling, kBackoffFloor.count()));
  return Duration(pick(random));
}

std::string_view to_string(BreakerState state) {
  switch (state) {
    case BreakerState::closed: return "closed";
    case BreakerState::open: return "open";
    case BreakerState::half_open: return "half_open";
  }
  return "?";
}

BreakerState Breaker::state_at(SteadyTime now) const {
  if (state_ == BreakerState::open && now >= closed_until_) return BreakerState::half_open;
  return state_;
}

bool Breaker::admits(SteadyTime now) const {
  if (now < closed_until()) return false;
  return state_at(now) == BreakerState::closed || !probing_;
}

void Breaker::probe_started() {
  if (state_ == BreakerState::closed) return;
  state_ = BreakerState::half_open;
  probing_ = true;
}

void Breaker::succeeded() {
  state_ = BreakerState::closed;
  failures_ = 0;
  openings_ = 0;
  probing_ = false;
  closed_until_ = {};
}

void Breaker::failed(SteadyTime now, bool probe) {
  ++failures_;
  if (state_ == BreakerState::closed ? failures_ < policy_.failures : !probe) return;
  probing_ = false;
  state_ = BreakerState::open;
  closed_until_ = now + backoff_ceiling(policy_.open, policy_.cap, ++openings_);
}

void Breaker::released() { probing_ = false; }

void Breaker::wait_until(SteadyTime until) {
  asked_until_ = std::max(asked_until_, until);
  probing_ = false;
}

namespace {

const std::string* field_value(const Record& record, std::string_view field) {
  if (field == "aggregate_type") return &record.aggregate_type;
  if (field == "aggregate_id") return &record.aggregate_id;
  if (field == "type") return &record.type;
  if (field == "id") return &record.id;
  return nullptr;
}

}  // namespace

std::optional<std::string> expand(const Route& route, const Record& record) {
  const std::string& address = route.address;
  std::string expanded;
  std::size_t from = 0;
  for (;;) {
    const auto open = address.find('{', from);
    expanded.append(address, from, open - from);
    if (open == std::string::npos) return expanded;
    const auto close = address.find('}', open);
    if (close == std::string::npos) return std::nullopt;
    const std::string_view field(address.data() + open + 1, close - open - 1);
    const std::string* const value = field_value(record, field);
    if (value == nullptr) return std::nullopt;
    expanded += route.escape != nullptr ? route.escape(*value) : *value;
    from = close + 1;
  }
}

namespace {

bool matches(const Route& route, const Record& record) {
  return (!route.aggregate_type || *route.aggregate_type == record.aggregate_type) &&
         (!route.type || *route.type == record.type);
}

}  // namespace

const Route* Router::match(const std::string& sink, const Record& record) const {
  for (const Route& route : routes_) {
    if (route.sink == sink && matches(route, record)) return &route;
  }
  return nullptr;
}

bool Router::matches_any(const Record& record) const {
  return std::any_of(routes_.begin(), routes_.end(), [&](const Route& route) { return matches(route, record); });
}

bool Router::single_destination(const std::string& sink, bool fields_lead_elsewhere) const {
  const std::string* only = nullptr;
  for (const Route& route : routes_) {
    if (route.sink != sink) continue;
    if (fields_lead_elsewhere && route.address.find('{') != std::string::npos) return false;
    if (only != nullptr && *only != route.address) return false;
    only = &route.address;
  }
  return true;
}

}  // namespace outbox
