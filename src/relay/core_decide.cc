#include <algorithm>

#include "relay/core_state.h"
#include "relay/variant.h"

namespace outbox {

namespace {

constexpr std::size_t kDueKeys = 50;
constexpr std::size_t kDueRun = 20;
// Deliveries from the side table in memory: at this nobody asks for more.
constexpr std::size_t kLoadedMax = 1000;
// Of a marked table: how many windows of settled records may stand behind one that is not.
constexpr std::size_t kAheadWindows = 10;

}  // namespace

void Core::State::decide() {
  commands_.wake_at = kNeverSteady;
  if (fenced_) {
    commands_.finished = true;
    return;
  }
  if (running_) {
    decide_publish();
    decide_store();
    decide_fetch();
  }
  decide_reopen();
  commands_.finished = (stopping_ && idle()) || (draining_ && drained());
  commands_.wake_at = next_wake();
}

void Core::State::decide_publish() {
  if (stopping_ || (lapsed_ && broken(Variant::lapse_keeps_share))) return;
  for (std::size_t i = 0; i < sides_.size(); ++i) {
    Side& side = *sides_[i];
    if (side.paused && !broken(Variant::pause_ignored)) continue;
    auto batch = side.out.select(now_, [&](Delivery& delivery) {
      if (delivery.doom) {
        die(side, delivery, delivery.doom->reason, delivery.doom->error);
      } else {
        destination_closed(side, delivery);
      }
    });
    if (broken(Variant::settle_before_confirm)) settle_early(side, batch);
    if (!batch.empty()) commands_.publish.push_back({i, std::move(batch)});
  }
  spill();
  release_front();
}

void Core::State::settle_early(Side& side, const std::vector<Publication>& batch) {
  for (const Publication& each : batch) {
    const Delivery* delivery = side.out.find(each.id);
    if (!delivery->parked()) progress_.settle(*delivery->ordinal);
  }
}

// Paused, or its breaker or the far side lets nothing through but a probe.
bool Core::State::takes_nothing(const Side& side) const {
  const Breaker& breaker = side.out.breaker();
  return side.paused || side.out.client_down || breaker.state_at(now_) != BreakerState::closed ||
         breaker.closed_until() > now_;
}

// Where sinks share the feed, one that takes nothing must not hold the window of the others: what it has in memory goes
// to the side table, uncharged, while there is room below its cap. Each key from its first, so that its order stands.
void Core::State::spill() {
  if (options_.feed.positions || sides_.size() < 2 || has_room() || broken(Variant::spill_missing)) return;
  for (auto& side : sides_) {
    if (!takes_nothing(*side)) continue;
    for (Line* line : side->out.lines_at_rest()) {
      if (at_cap(*side)) break;
      if (!can_wait(*line->first->record)) continue;
      if (broken(Variant::spill_from_behind)) side->out.reverse(*line);
      if (line->first->parked()) {  // its row is there already; what came behind it follows
        line->rows_behind = true;
        retreat(*side, *line);
        continue;
      }
      const std::string why =
          side->out.client_down ? "the client is being rebuilt: " + side->last_error : side->breaker_reason;
      park(*side, *line->first, DeliveryState::waiting, now_, false, side->paused ? "paused" : "sink_down",
           side->paused ? "the sink is paused" : why);
    }
  }
}

// One message that waits in memory for another try must not fill the window for all: at the bound it is parked,
// uncharged. While its breaker is open the window may stand, unless each of its keys was tried: then only what is still
// to be read can tell whether the destination is well.
void Core::State::release_front() {
  if (progress_.ahead() < options_.ahead_max && has_room()) return;
  const RecordPtr front = progress_.front();
  if (!front) return;
  for (auto& side : sides_) {
    Line* line = side->out.find_line(front->key);
    if (line == nullptr || line->empty()) continue;
    Delivery& head = *line->first;
    if (head.record != front || head.state != DeliveryState::claimed || head.uncharged == 0) continue;
    if (!can_wait(*front)) continue;
    const SteadyTime closed_until = head.destination->breaker->closed_until();
    const bool is_closed = head.destination->breaker->state_at(now_) != BreakerState::closed;
    if (is_closed ? side->out.has_untried_key() : head.retry_at <= now_) continue;
    const SteadyTime next = std::max({now_, head.retry_at, closed_until});
    park(*side, head, DeliveryState::waiting, next, false, "held_up", side->last_error);
  }
}

// At most one question to the store at a time: what it answers about keys is never older than what was parked here.
void Core::State::decide_store() {
  if (asked_ == Asked::nothing && sent_failed_) {
    if (now_ >= settle_at_) {
      sent_failed_ = false;
      asked_ = Asked::settle;
      commands_.settle = sent_.batch;
    }
  } else if (asked_ == Asked::nothing && page_facts_.empty() && send_part()) {
    // Nothing else is stored or asked between the parts of a batch.
  } else if (asked_ == Asked::nothing && page_ && now_ >= store_at_) {
    ask_facts_or_ingest();
    if (!page_) decide_publish();
  }
  if (asked_ == Asked::nothing && !sent_failed_ && !stopping_ && page_facts_.empty() && now_ >= store_at_) {
    for (std::size_t i = 0; i < sides_.size(); ++i) {
      Side& side = *sides_[i];
      if (now_ < due_question_at(side)) continue;
      asked_ = Asked::due;
      due_side_ = i;
      side.counted_only = !may_load(side);
      commands_.due = Commands::Due{i, side.counted_only ? 0 : kDueKeys, kDueRun, keys_not_due(side)};
      break;
    }
  }
  if (asked_ == Asked::nothing && !sent_failed_ && page_facts_.empty() && wants_settle()) send_settle();
  const bool answer_pending = page_ || asked_ == Asked::facts || asked_ == Asked::due;
  for (auto& side : sides_) {
    side->out.keep_lines(answer_pending);
    side->out.sweep();
  }
}

// While the sink takes nothing there is no use in asking, but for the first answer: it says what is parked at all.
SteadyTime Core::State::due_question_at(const Side& side) const {
  const bool has_room_again = side.due_answered && side.counted_only && may_load(side);
  const SteadyTime at = std::max(has_room_again ? now_ : side.due_at, store_at_);
  if (!side.due_answered) return at;
  return side.out.client_down ? kNeverSteady : std::max(at, side.out.breaker().closed_until());
}

bool Core::State::may_load(const Side& side) const {
  return side.out.loaded() < kLoadedMax && !side.paused && !side.out.client_down &&
         side.out.breaker().closed_until() <= now_;
}

// Their rows are in memory, or the table does not know yet what became of them.
std::vector<std::string> Core::State::keys_not_due(const Side& side) const {
  std::vector<std::string> keys = side.out.keys_with_parked();
  const auto add = [&](const std::vector<std::pair<const Side*, std::string>>& updated) {
    for (const auto& [of, key] : updated) {
      if (of == &side) keys.push_back(key);
    }
  };
  add(updated_keys_);
  for (const Refusal& refusal : refusals_) {
    add(refusal.what.updated_keys);
    for (const Park& park : refusal.what.batch.parks) {
      if (park.sink == side.options.name) keys.push_back(park.record->key);
    }
  }
  return keys;
}

bool Core::State::wants_settle() const {
  if (!pending_.empty()) return true;
  if (!progress_.moved() || position_is_held()) return false;
  return stopping_ || drained_source_ || now_ >= settle_at_;
}

void Core::State::send_settle() {
  if (options_.feed.positions) {
    if (progress_.moved() && !position_is_held()) {
      pending_.position = progress_.position(options_.ahead_max);
      progress_.mark_stored();
    }
  } else {
    pending_.settled = progress_.take_settled();
    progress_.mark_stored();
  }
  withhold_dependents();
  if (pending_.empty()) return;
  sent_ = {std::exchange(pending_, {}), std::exchange(pending_died_, {}), std::exchange(updated_keys_, {})};
  asked_ = Asked::settle;
  settle_at_ = now_ + options_.settle_every;
  commands_.settle = sent_.batch;
}

bool Core::State::send_part() {
  if (parts_.empty() && now_ >= refusals_at_ && !stopping_) try_refused_again();
  if (parts_.empty()) return false;
  sent_ = std::move(parts_.front());
  parts_.pop_front();
  asked_ = Asked::settle;
  commands_.settle = sent_.batch;
  return true;
}

bool Core::State::at_cap(const Side& side) const {
  if (broken(Variant::cap_ignored)) return false;
  return side.parked.uncharged >= static_cast<std::int64_t>(side.options.parked_max);
}

// Read and in memory: what is not behind the prefix, and what is settled but not written yet.
// At the cap nothing is read but, after a probe that failed, one record to park: if each key in memory was tried, only
// one that is still to be read can tell a message's 500 from the destination's.
bool Core::State::may_read(const Side& side) const {
  if (!at_cap(side)) return true;
  return side.wants_new_key && !side.paused && !side.out.client_down && !side.out.has_untried_key();
}

// Whether what is parked behind its key counts towards the cap: the key may wait for its destination. While nothing
// does, it waits for a message that failed by its own fault, and that ends by itself.
bool Core::State::waits_for_destination(const Side& side) const {
  return takes_nothing(side) || side.parked.uncharged > 0;
}

std::size_t Core::State::held_records() const {
  const auto unwritten = [](const SettleBatch& batch) { return batch.parks.size() + batch.settled.size(); };
  // Where rows are marked, what is settled is done with, whatever stands before it.
  const std::size_t done = options_.feed.positions ? 0 : progress_.ahead();
  return progress_.records() - done + progress_.newly_settled() + unwritten(pending_) + unwritten(sent_.batch) +
         refused_items();
}

bool Core::State::has_room() const {
  return held_records() + options_.page_records <= std::max(options_.window_records, options_.page_records) &&
         progress_.bytes() < options_.window_bytes &&
         (options_.feed.positions || progress_.ahead() < kAheadWindows * options_.window_records);
}

bool Core::State::may_fetch() const {
  if (stopping_ || fetch_outstanding_ || page_ || (draining_ && drained_source_)) return false;
  if (!has_room()) return false;
  return std::all_of(sides_.begin(), sides_.end(),
                     [&](const auto& side) { return side->due_answered && may_read(*side); });
}

void Core::State::decide_fetch() {
  if (!may_fetch() || now_ < poll_at_) return;
  // What was marked before this fetch begins cannot come again.
  for (const std::string& id : std::exchange(marked_ids_, {})) held_ids_.erase(id);
  fetch_outstanding_ = true;
  const bool capped = std::any_of(sides_.begin(), sides_.end(), [&](const auto& side) { return at_cap(*side); });
  commands_.fetch = Commands::Fetch{capped ? 1 : options_.page_records, options_.page_bytes};
}

void Core::State::decide_reopen() {
  for (std::size_t i = 0; i < sides_.size(); ++i) {
    Side& side = *sides_[i];
    if (reopen_at(side) > now_) continue;
    side.reopen_at = kNeverSteady;
    side.reopen_outstanding = true;
    commands_.reopen.push_back(i);
  }
}

// Who stops needs no client any more, but for taking back what it holds.
SteadyTime Core::State::reopen_at(const Side& side) const {
  return stopping_ && side.out.in_flight() == 0 ? kNeverSteady : side.reopen_at;
}

void Core::State::want_restart() {
  if (!running_) return;
  running_ = false;
  restart_outstanding_ = true;
  commands_.restart = !lapsed_;
}

bool Core::State::nothing_to_write() const {
  return asked_ == Asked::nothing && !sent_failed_ && pending_.empty() && parts_.empty() &&
         (!progress_.moved() || position_is_held());
}

// Nothing is in flight and nothing is left to write.
bool Core::State::idle() const {
  const bool quiet =
      broken(Variant::gives_in_flight) ||
      std::all_of(sides_.begin(), sides_.end(), [](const auto& side) { return side->out.in_flight() == 0; });
  return quiet && (!running_ || nothing_to_write());
}

// A sink whose breaker is not closed is given up, with whatever probe it may have in flight.
bool Core::State::drained() const {
  if (!running_ || page_ || fetch_outstanding_ || !nothing_to_write()) return false;
  if (!drained_source_ && may_fetch()) return false;
  return std::all_of(sides_.begin(), sides_.end(), [&](const auto& side) {
    if (!side->due_answered || side->parked_since_due) return false;
    if (side->paused || side->out.breaker().state_at(now_) != BreakerState::closed) return true;
    // What waits behind a dead letter that holds its key is never due.
    const bool awaited = side->parked.waiting > side->parked.not_due && side->next_due != kNever;
    return side->out.in_flight() == 0 && side->out.size() == 0 && !awaited;
  });
}

SteadyTime Core::State::next_wake() const {
  SteadyTime at = kNeverSteady;
  if (running_) {
    if (may_fetch()) at = std::min(at, poll_at_);
    if (sent_failed_) at = std::min(at, settle_at_);
    const bool may_ask = asked_ == Asked::nothing && !sent_failed_;
    if (may_ask && page_) at = std::min(at, store_at_);
    if (may_ask && page_facts_.empty() && !stopping_) at = std::min(at, refusals_at_);
    if (may_ask && page_facts_.empty() && progress_.moved() && !position_is_held()) at = std::min(at, settle_at_);
  }
  for (const auto& side : sides_) {
    at = std::min(at, reopen_at(*side));
    if (!running_ || stopping_ || (lapsed_ && broken(Variant::lapse_keeps_share))) continue;
    if (!side->paused) at = std::min(at, side->out.next_wake(now_));
    if (asked_ == Asked::nothing && !sent_failed_ && page_facts_.empty()) at = std::min(at, due_question_at(*side));
  }
  return at;
}

}  // namespace outbox
