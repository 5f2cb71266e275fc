#include "sink/rabbitmq/confirm_ledger.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

namespace outbox::rabbitmq {
namespace {

// What came after it was given back and is never asked for again must not pile up.
constexpr std::size_t kConfirmedLateMax = 10'000;

bool same_message(const Held& one, const Held& other) {
  if (one.address.exchange != other.address.exchange || one.address.routing_key != other.address.routing_key) {
    return false;
  }
  if (one.record == other.record) return true;
  const Record& a = *one.record;
  const Record& b = *other.record;
  return a.payload == b.payload && a.headers == b.headers && a.type == b.type && a.key == b.key &&
         a.traceparent == b.traceparent;
}

}  // namespace

std::string receipt(const Address& address) {
  return fmt::format("exchange '{}', routing key '{}'", address.exchange, address.routing_key);
}

void ConfirmLedger::add(Held held, Clock::time_point now) {
  entries_.emplace_hint(entries_.end(), ++last_tag_, Entry{std::move(held), now, false, false, {}});
}

void ConfirmLedger::returned(std::string_view message_id, std::string why) {
  const auto found = std::ranges::find_if(
      entries_, [&](const auto& each) { return !each.second.returned && each.second.held.record->id == message_id; });
  if (found == entries_.end()) return;
  found->second.returned = true;
  found->second.why = std::move(why);
}

Outcome ConfirmLedger::judge(Entry& entry, bool acked) const {
  if (entry.returned) return busy(Scope::destination, "unroutable", std::move(entry.why));
  if (acked) return delivered(receipt(entry.held.address));
  return busy(Scope::destination, "nack",
              receipt(entry.held.address) + ": a queue did not take it; is it full, or failing?");
}

void ConfirmLedger::settle(Entry& entry, bool acked, std::vector<Completion>& outcomes) {
  if (!entry.given_back) {
    outcomes.push_back({entry.held.id, judge(entry, acked)});
    return;
  }
  given_back_.erase(entry.held.record->id);
  if (!acked || entry.returned || confirmed_late_.size() >= kConfirmedLateMax) return;
  const std::string id = entry.held.record->id;
  confirmed_late_.insert_or_assign(id, std::move(entry.held));
}

void ConfirmLedger::confirmed(std::uint64_t tag, bool multiple, bool acked, std::vector<Completion>& outcomes) {
  const auto begin = multiple ? entries_.begin() : entries_.find(tag);
  if (begin == entries_.end()) return;
  const auto end = entries_.upper_bound(tag);
  for (auto at = begin; at != end; ++at) settle(at->second, acked, outcomes);
  entries_.erase(begin, end);
}

std::vector<Held> ConfirmLedger::give_back(Clock::time_point since) {
  std::vector<Held> given;
  for (auto& [tag, entry] : entries_) {
    if (entry.given_back || entry.added >= since) continue;
    const auto [listened, is_new] = given_back_.emplace(entry.held.record->id, tag);
    if (!is_new)
      entries_.erase(std::exchange(listened->second, tag));  // another message of that id: the last one counts
    entry.given_back = true;
    given.push_back(entry.held);
  }
  return given;
}

ConfirmLedger::Adoption ConfirmLedger::adopt(const Held& held, Clock::time_point now) {
  const std::string& id = held.record->id;
  if (const auto late = confirmed_late_.find(id); late != confirmed_late_.end()) {
    const bool same = same_message(late->second, held);
    confirmed_late_.erase(late);
    return same ? Adoption::delivered : Adoption::none;
  }
  const auto tag = given_back_.find(id);
  if (tag == given_back_.end()) return Adoption::none;
  Entry& entry = entries_.at(tag->second);
  if (!same_message(entry.held, held)) return Adoption::none;
  given_back_.erase(tag);
  entry.given_back = false;
  entry.held = held;
  entry.added = now;
  return Adoption::waits;
}

std::vector<Held> ConfirmLedger::take_all() {
  std::vector<Held> taken;
  taken.reserve(size());
  for (auto& [tag, entry] : entries_) {
    if (!entry.given_back) taken.push_back(std::move(entry.held));
  }
  entries_.clear();
  given_back_.clear();
  last_tag_ = 0;
  return taken;
}

Clock::time_point ConfirmLedger::oldest() const {
  auto oldest = Clock::time_point::max();
  for (const auto& [tag, entry] : entries_) {
    if (!entry.given_back) oldest = std::min(oldest, entry.added);
  }
  return oldest;
}

}  // namespace outbox::rabbitmq
