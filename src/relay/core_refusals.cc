// What the database refuses to store. A batch that it refuses is tried in parts, down to single items. One that is
// refused alone stays in memory, with what must not be stored before it, and is tried again; all else goes on.
#include <algorithm>
#include <iterator>

#include "relay/core_state.h"
#include "relay/variant.h"

namespace outbox {

namespace {

// At this many the database is at fault and no longer single messages: batches wait as a whole.
constexpr std::size_t kRefusalsMax = 100;
constexpr Duration kRefusalPause{1s};
constexpr Duration kRefusalCap{30s};

std::size_t items(const SettleBatch& batch) { return batch.updates.size() + batch.parks.size() + batch.settled.size(); }

template <class T>
void move_front(std::vector<T>& from, std::size_t count, std::vector<T>& to) {
  const auto end = from.begin() + static_cast<std::ptrdiff_t>(count);
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(end));
  from.erase(from.begin(), end);
}

template <class T, class Condition>
void move_if(std::vector<T>& from, std::vector<T>& to, Condition condition) {
  const auto stays = std::stable_partition(from.begin(), from.end(), [&](const T& each) { return !condition(each); });
  to.insert(to.end(), std::make_move_iterator(stays), std::make_move_iterator(from.end()));
  from.erase(stays, from.end());
}

bool has_record(const std::vector<Park>& parks, const RecordPtr& record) {
  return std::any_of(parks.begin(), parks.end(), [&](const Park& park) { return park.record == record; });
}

std::string name_of(const SettleBatch& refused) {
  const auto message = [](const RecordPtr& record) { return "message " + record->id + " of key " + record->key; };
  if (!refused.parks.empty()) {
    const Park& park = refused.parks.front();
    return "parking " + message(park.record) + " for " + park.sink + " (" + park.reason + ")";
  }
  if (!refused.settled.empty()) return "marking " + message(refused.settled.front()) + " as sent";
  return "what became of delivery " + std::to_string(refused.updates.front().row);
}

}  // namespace

bool Core::State::has_died_in(const SettleBatch& batch, const Commands::Died& died) const {
  const std::string& sink = sides_[died.sink]->options.name;
  return std::any_of(batch.parks.begin(), batch.parks.end(),
                     [&](const Park& park) {
                       return park.state == DeliveryState::dead && park.record == died.record && park.sink == sink;
                     }) ||
         std::any_of(batch.updates.begin(), batch.updates.end(),
                     [&](const ParkedUpdate& update) { return died.row != 0 && update.row == died.row; });
}

// What must not be stored before the parks of a refused batch: their followers' parks, and the marks of their rows.
void Core::State::take_dependents(SettleBatch& from, std::vector<Commands::Died>& died, Unwritten& refused) const {
  SettleBatch& to = refused.batch;
  move_if(from.parks, to.parks, [&](const Park& park) {
    return std::any_of(to.parks.begin(), to.parks.end(), [&](const Park& before) {
      return blocks_key(before) && before.sink == park.sink && before.record->key == park.record->key;
    });
  });
  if (!broken(Variant::refused_marked)) {
    move_if(from.settled, to.settled, [&](const RecordPtr& record) { return has_record(to.parks, record); });
  }
  move_if(died, refused.died, [&](const Commands::Died& each) { return has_died_in(to, each); });
}

// Half of it, or what has to be stored first: a row is marked only when its deliveries are parked.
Core::State::Unwritten Core::State::take_first_part(Unwritten& rest) const {
  Unwritten part;
  SettleBatch& from = rest.batch;
  const auto count = [&](std::size_t of_kind) { return of_kind == items(from) ? of_kind / 2 : of_kind; };
  if (!from.updates.empty()) {
    const std::size_t n = count(from.updates.size());
    move_front(from.updates, n, part.batch.updates);
    move_front(rest.updated_keys, n, part.updated_keys);
  } else if (!from.parks.empty()) {
    move_front(from.parks, count(from.parks.size()), part.batch.parks);
  } else {
    move_front(from.settled, count(from.settled.size()), part.batch.settled);
  }
  move_if(rest.died, part.died, [&](const Commands::Died& died) { return has_died_in(part.batch, died); });
  return part;
}

// The batch that was sent is refused. False: there is nothing to take apart.
bool Core::State::take_apart(const Failure& failure) {
  const std::size_t size = items(sent_.batch);
  if (size == 0 || refusals_.size() >= kRefusalsMax) return false;
  if (sent_.batch.position) {  // stored when all of them are
    sent_.batch.position.reset();
    progress_.mark_unstored();
  }
  Unwritten whole = std::exchange(sent_, {});
  if (size == 1) {
    refuse(std::move(whole), failure);
    return true;
  }
  Unwritten first = take_first_part(whole);
  parts_.push_front(std::move(whole));
  parts_.push_front(std::move(first));
  return true;
}

void Core::State::refuse(Unwritten refused, const Failure& failure) {
  commands_.refused.push_back({name_of(refused.batch), failure.what});
  if (broken(Variant::refused_forgotten)) return;
  for (Unwritten& part : parts_) take_dependents(part.batch, part.died, refused);
  std::erase_if(parts_, [](const Unwritten& part) { return part.batch.empty(); });
  // One row's deliveries at two sinks: its mark waits for both.
  const auto other = std::find_if(refusals_.begin(), refusals_.end(), [&](const Refusal& each) {
    return std::any_of(refused.batch.parks.begin(), refused.batch.parks.end(),
                       [&](const Park& park) { return has_record(each.what.batch.parks, park.record); });
  });
  if (other != refusals_.end()) {
    move_front(refused.batch.parks, refused.batch.parks.size(), other->what.batch.parks);
    move_front(refused.batch.settled, refused.batch.settled.size(), other->what.batch.settled);
    move_front(refused.died, refused.died.size(), other->what.died);
    return;
  }
  if (refusals_.empty()) {
    refusals_at_ = now_ + full_jitter(kRefusalPause, kRefusalCap, ++refusal_tries_, random_);
  }
  refusals_.push_back({std::move(refused), failure.what});
}

void Core::State::withhold_dependents() {
  for (Refusal& refusal : refusals_) take_dependents(pending_, pending_died_, refusal.what);
}

void Core::State::try_refused_again() {
  for (Refusal& refusal : refusals_) parts_.push_back(std::move(refusal.what));
  refusals_.clear();
  refusals_at_ = kNeverSteady;
}

// A position that passes a message whose parking is refused would lose it.
bool Core::State::position_is_held() const {
  if (!options_.feed.positions || broken(Variant::refused_passed)) return false;
  return std::any_of(refusals_.begin(), refusals_.end(),
                     [](const auto& each) { return !each.what.batch.parks.empty(); });
}

std::size_t Core::State::refused_items() const {
  std::size_t count = 0;
  for (const Refusal& refusal : refusals_) count += items(refusal.what.batch);
  for (const Unwritten& part : parts_) count += items(part.batch);
  return count;
}

std::string Core::State::refusal() const {
  if (refusals_.empty()) return {};
  const Refusal& first = refusals_.front();
  std::string text = "the database refuses " + name_of(first.what.batch);
  if (refusals_.size() > 1) text += " and " + std::to_string(refusals_.size() - 1) + " more";
  return text + ": " + first.error;
}

}  // namespace outbox
