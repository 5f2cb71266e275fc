#include "relay/outbound.h"

#include <algorithm>
#include <tuple>

#include "base/result.h"
#include "relay/variant.h"

namespace outbox {

namespace {

constexpr std::size_t kDestinationsMax = 1000;
constexpr std::size_t kSpareLinesMax = 10'000;
constexpr unsigned kIndexBits = 24;  // of a DeliveryId: the place in the slab; the rest is a serial number

void unlink(Line& line, Delivery& delivery) {
  (delivery.before != nullptr ? delivery.before->behind : line.first) = delivery.behind;
  (delivery.behind != nullptr ? delivery.behind->before : line.last) = delivery.before;
}

void link_last(Line& line, Delivery& delivery) {
  delivery.before = line.last;
  delivery.behind = nullptr;
  (line.last != nullptr ? line.last->behind : line.first) = &delivery;
  line.last = &delivery;
}

void link_first(Line& line, Delivery& delivery) {
  delivery.before = nullptr;
  delivery.behind = line.first;
  (line.first != nullptr ? line.first->before : line.last) = &delivery;
  line.first = &delivery;
}

// The line goes on from this delivery, although some behind it were handed over already.
void go_back_to(Line& line, Delivery& delivery) {
  if (!delivery.is_ahead) return;
  for (Delivery* each = &delivery; each != line.next; each = each->behind) {
    each->is_ahead = false;
    --line.ahead;
  }
  line.next = &delivery;
}

}  // namespace

Outbound::Outbound(Capabilities capabilities, BreakerPolicy breaker, RetryBudgetPolicy budget, bool single_destination)
    : capabilities_(capabilities),
      breaker_policy_(breaker),
      single_destination_(single_destination),
      breaker_(breaker),
      budget_(budget) {}

void Outbound::restart() {
  for (const Delivery& each : slab_) {
    if (each.line == nullptr || each.state != DeliveryState::in_flight) continue;
    strays_[each.id] = {each.line->key, each.record->bytes()};
    ++stray_keys_[each.line->key];
  }
  lines_.clear();
  ready_.clear();
  delayed_.clear();
  awaiting_token_.clear();
  maybe_idle_.clear();
  slab_.clear();
  free_.clear();
  size_ = 0;
  loaded_ = 0;
  in_flight_ = 0;
  breaker_.released();
  for (auto& [name, destination] : destinations_) {
    destination->users = 0;
    destination->breaker->released();
  }
}

Line& Outbound::line(const std::string& key) {
  const auto found = lines_.find(key);
  if (found != lines_.end()) return found->second;
  if (spare_lines_.empty()) {
    Line& fresh = lines_[key];
    fresh.key = key;
    return fresh;
  }
  Lines::node_type node = std::move(spare_lines_.back());
  spare_lines_.pop_back();
  node.key() = key;
  node.mapped().key = key;
  return lines_.insert(std::move(node)).position->second;
}

Line* Outbound::find_line(const std::string& key) {
  const auto found = lines_.find(key);
  return found == lines_.end() ? nullptr : &found->second;
}

Destination& Outbound::destination(const std::string& name) {
  auto& slot = destinations_[name];
  if (!slot) {
    slot = std::make_unique<Destination>(breaker_policy_);
    slot->name = name;
    slot->breaker = single_destination_ ? &breaker_ : &slot->own_breaker;
    if (destinations_.size() > kDestinationsMax) {
      ++slot->users;
      drop_idle_destinations();
      --slot->users;
    }
  }
  return *slot;
}

void Outbound::drop_idle_destinations() {
  std::erase_if(destinations_, [this](const auto& each) {
    return each.second->users == 0 && each.second->own_breaker.closed_until() <= selected_at_;
  });
}

Delivery& Outbound::append(Line& line, RecordPtr record, const Route& route, const std::string& address,
                           Ordinal ordinal) {
  Delivery& delivery = new_delivery(line, std::move(record), route, address);
  delivery.ordinal = ordinal;
  return delivery;
}

Delivery& Outbound::append_parked(Line& line, RecordPtr record, const Route& route, const std::string& address,
                                  std::int64_t row) {
  Delivery& delivery = new_delivery(line, std::move(record), route, address);
  delivery.row = row;
  ++line.parked;
  ++loaded_;
  return delivery;
}

Delivery& Outbound::new_delivery(Line& line, RecordPtr record, const Route& route, const std::string& address) {
  std::uint32_t index = 0;
  if (free_.empty()) {
    index = static_cast<std::uint32_t>(slab_.size());
    OUTBOX_ASSERT(index < (1u << kIndexBits));
    slab_.emplace_back();
  } else {
    index = free_.back();
    free_.pop_back();
    slab_[index] = Delivery();
  }
  Delivery& delivery = slab_[index];
  delivery.id = index;
  delivery.record = std::move(record);
  delivery.route = &route;
  delivery.line = &line;
  const bool of_route = !capabilities_.fields_lead_elsewhere && address != route.address;
  delivery.destination = &destination(of_route ? route.address : address);
  if (of_route) delivery.address = address;
  ++delivery.destination->users;
  link_last(line, delivery);
  if (line.next == nullptr) line.next = &delivery;
  ++line.size;
  ++size_;
  return delivery;
}

void Outbound::remove(Delivery& delivery) {
  OUTBOX_ASSERT(delivery.state != DeliveryState::in_flight);
  Line& line = *delivery.line;
  if (line.next == &delivery) line.next = delivery.behind;
  if (delivery.is_ahead) --line.ahead;
  unlink(line, delivery);
  --line.size;
  if (delivery.parked()) {
    --line.parked;
    --loaded_;
  }
  --delivery.destination->users;
  --size_;
  free_.push_back(static_cast<std::uint32_t>(delivery.id & ((1u << kIndexBits) - 1)));
  delivery.record.reset();
  delivery.line = nullptr;
  delivery.id = DeliveryId{free_.back()};
  list_if_idle(line);
}

Delivery* Outbound::find(DeliveryId id) {
  const auto stray = strays_.find(id);
  if (stray != strays_.end()) {
    in_flight_bytes_ -= stray->second.bytes;
    const auto key = stray_keys_.find(stray->second.key);
    if (--key->second == 0) stray_keys_.erase(key);
    if (Line* line = find_line(stray->second.key)) wake(*line);
    strays_.erase(stray);
    return nullptr;
  }
  const std::size_t index = id & ((1u << kIndexBits) - 1);
  OUTBOX_ASSERT(index < slab_.size() && slab_[index].id == id && slab_[index].state == DeliveryState::in_flight);
  return &slab_[index];
}

void Outbound::wake(Line& line) {
  if (line.empty()) return list_if_idle(line);
  if (line.in_ready) return;
  line.in_ready = true;
  ready_.push_back(&line);
}

void Outbound::list_if_idle(Line& line) {
  if (!line.empty() || line.idle_listed) return;
  line.idle_listed = true;
  maybe_idle_.push_back(&line);
}

void Outbound::sweep() {
  if (keep_lines_) return;
  for (Line* line : std::exchange(maybe_idle_, {})) {
    line->idle_listed = false;
    if (!line->empty() || line->parks_pending > 0 || line->deaths_pending > 0) continue;
    if (line->in_ready) std::erase(ready_, line);
    if (line->awaits_token) std::erase(awaiting_token_, line);
    if (line->delayed_until != SteadyTime{}) delayed_.erase({line->delayed_until, line});
    static_cast<LineState&>(*line) = {};
    auto node = lines_.extract(line->key);
    if (spare_lines_.size() < kSpareLinesMax) spare_lines_.push_back(std::move(node));
  }
}

Delivery* Outbound::next_of(const Line& line) const {
  if (line.retreating || line.deaths_pending > 0 || line.next == nullptr) return nullptr;
  Delivery* delivery = line.next;
  // Behind what may come to hold the key nothing goes out.
  const auto may_hold = [](const Delivery* each) { return each->route->dead_letter_holds_key; };
  const bool pipelines = capabilities_.pipelines_key && !may_hold(delivery) && !may_hold(line.first);
  if (broken(Variant::no_key_gate)) return delivery;
  if (!pipelines && stray_keys_.contains(line.key)) return nullptr;
  // Pipelined or not, nothing that stands behind it may be in flight.
  return line.in_flight == (pipelines ? line.ahead : 0) ? delivery : nullptr;
}

bool Outbound::room_for(const Record& record) const {
  if (in_flight() == 0) return true;
  return in_flight() < capabilities_.window_messages && in_flight_bytes_ + record.bytes() <= capabilities_.window_bytes;
}

// Null: this one may probe its half-open breaker, if need be. A message that has not failed yet goes before those that
// have, or a few that always give a 500 would keep the destination closed for all, one after the other; where all have
// failed, another key goes before the one whose probe failed last.
Line* Outbound::better_probe(const Line& line, const Delivery& delivery, SteadyTime now) const {
  const Destination& to = *delivery.destination;
  if (broken(Variant::probe_same_key) || to.breaker->state_at(now) != BreakerState::half_open) return nullptr;
  if (!delivery.has_failed() || !to.breaker->admits(now)) return nullptr;
  Line* better = nullptr;
  for (Line* other : ready_) {
    const Delivery* next = next_of(*other);
    if (other == &line || next == nullptr || next->retry_at > now || next->destination->breaker != to.breaker) continue;
    if (!next->has_failed()) return other;
    if (better == nullptr && to.failed_probe_key == line.key) better = other;
  }
  return better;
}

void Outbound::pop_ready() {
  ready_.front()->in_ready = false;
  ready_.pop_front();
}

void Outbound::wake_delayed(SteadyTime now) {
  while (!delayed_.empty() && delayed_.begin()->first <= now) {
    Line* line = delayed_.begin()->second;
    line->delayed_until = {};
    delayed_.erase(delayed_.begin());
    wake(*line);
  }
}

// Those that have waited longest go first.
void Outbound::release_retries(SteadyTime now) {
  for (auto tokens = budget_.tokens(now); tokens > 0 && !awaiting_token_.empty(); --tokens) {
    Line* line = awaiting_token_.front();
    awaiting_token_.pop_front();
    line->awaits_token = false;
    if (std::exchange(line->in_ready, true)) continue;
    ready_.push_front(line);
  }
}

void Outbound::await_token(Line& line) {
  if (std::exchange(line.awaits_token, true)) return;
  awaiting_token_.push_back(&line);
}

std::vector<Publication> Outbound::select(SteadyTime now, const std::function<void(Delivery&)>& stopped) {
  std::vector<Publication> batch;
  selected_at_ = now;
  wake_delayed(now);
  release_retries(now);
  while (!client_down && !ready_.empty() && breaker_.admits(now)) {
    if (cautious > 0 && in_flight() > 0) break;
    Line& line = *ready_.front();
    Delivery* delivery = next_of(line);
    if (delivery == nullptr) {
      pop_ready();
      continue;
    }
    if (delivery->doom) {
      pop_ready();
      if (line.next == line.first) stopped(*delivery);
      continue;
    }
    if (delivery->retry_at > now) {
      pop_ready();
      if (line.delayed_until != SteadyTime{}) delayed_.erase({line.delayed_until, &line});
      line.delayed_until = delivery->retry_at;
      delayed_.insert({line.delayed_until, &line});
      continue;
    }
    if (Line* better = better_probe(line, *delivery, now)) {
      std::erase(ready_, better);
      ready_.push_front(better);
      continue;
    }
    if (!delivery->destination->breaker->admits(now)) {
      pop_ready();
      // Behind one that is in flight it waits for that one's outcome: parked now, it would overtake in the table.
      if (line.next == line.first) stopped(*delivery);
      continue;
    }
    if (!room_for(*delivery->record)) break;
    if (delivery->attempts > 0 && budget_.tokens(now) == 0) {
      pop_ready();
      await_token(line);
      continue;
    }
    batch.push_back(depart(*delivery, now));
  }
  return batch;
}

Publication Outbound::depart(Delivery& delivery, SteadyTime now) {
  Breaker& breaker = *delivery.destination->breaker;
  delivery.is_probe = breaker.state_at(now) != BreakerState::closed;
  if (delivery.is_probe) breaker.probe_started();
  if (&breaker != &breaker_ && breaker_.state_at(now) != BreakerState::closed) {
    delivery.is_probe = true;
    breaker_.probe_started();
  }
  if (delivery.attempts > 0) {
    budget_.take();
  } else if (delivery.published_at == SteadyTime{} && !delivery.was_tried) {
    budget_.first_try();
  }
  if (!delivery.was_tried) delivery.successes_seen = delivery.destination->successes;
  OUTBOX_ASSERT(allowed(delivery.state, DeliveryState::in_flight));
  delivery.state = DeliveryState::in_flight;
  delivery.published_at = now;
  delivery.sent_alone = cautious > 0;
  delivery.id = (++serial_ << kIndexBits) | (delivery.id & ((1u << kIndexBits) - 1));
  const bool first_in_key = delivery.line->in_flight == 0;
  ++delivery.line->in_flight;
  ++delivery.line->ahead;
  delivery.is_ahead = true;
  delivery.line->next = delivery.behind;
  ++in_flight_;
  in_flight_bytes_ += delivery.record->bytes();
  const std::string& address = delivery.address.empty() ? delivery.destination->name : delivery.address;
  return {delivery.id, delivery.record, address, delivery.attempts + delivery.uncharged + 1, first_in_key};
}

void Outbound::landed(Delivery& delivery) {
  delivery.state = DeliveryState::claimed;
  --delivery.line->in_flight;
  --in_flight_;
  in_flight_bytes_ -= delivery.record->bytes();
}

void Outbound::reclaim(Delivery& delivery) {
  Line& line = *delivery.line;
  if (broken(Variant::client_death_reverses) && client_down) {
    go_back_to(line, *line.first);
    unlink(line, delivery);
    link_first(line, delivery);
    line.next = &delivery;
  }
  go_back_to(line, delivery);
  wake(line);
}

SteadyTime Outbound::next_wake(SteadyTime now) const {
  SteadyTime at = delayed_.empty() ? kNeverSteady : delayed_.begin()->first;
  if (!ready_.empty() && breaker_.closed_until() > now) at = std::min(at, breaker_.closed_until());
  if (!awaiting_token_.empty()) at = std::min(at, budget_.next_at());
  return at;
}

Outbound::Held Outbound::held_destinations(SteadyTime now) const {
  Held held;
  if (single_destination_) return held;
  held.of = destinations_.size();
  for (const auto& [name, destination] : destinations_) {
    const Breaker& breaker = destination->own_breaker;
    if (breaker.state_at(now) == BreakerState::closed && breaker.closed_until() <= now) continue;
    ++held.count;
    if (held.reason.empty()) held.reason = destination->last_failure;
  }
  return held;
}

bool Outbound::has_untried_key() const {
  return std::any_of(lines_.begin(), lines_.end(), [](const auto& each) {
    const Delivery* first = each.second.first;
    return first != nullptr && first->published_at == SteadyTime{} && !first->has_failed();
  });
}

std::vector<Line*> Outbound::lines_at_rest() {
  std::vector<Line*> lines;
  if (size_ == loaded_) return lines;
  for (auto& [key, line] : lines_) {
    if (line.has_stream() && line.in_flight == 0 && !line.retreating && line.deaths_pending == 0) {
      lines.push_back(&line);
    }
  }
  std::sort(lines.begin(), lines.end(), [](const Line* a, const Line* b) {
    return std::tuple(a->first->ordinal, a->first->row) < std::tuple(b->first->ordinal, b->first->row);
  });
  return lines;
}

void Outbound::reverse(Line& line) {
  for (Delivery* each = line.first; each != nullptr; each = each->before) std::swap(each->before, each->behind);
  std::swap(line.first, line.last);
  line.next = line.first;
}

std::vector<std::string> Outbound::keys_with_parked() const {
  std::vector<std::string> keys;
  for (const auto& [key, line] : lines_) {
    if (line.has_parked()) keys.push_back(key);
  }
  return keys;
}

}  // namespace outbox
