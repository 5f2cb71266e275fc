#include <algorithm>

#include "relay/core_state.h"
#include "relay/variant.h"

namespace outbox {

namespace {

constexpr std::size_t kSuccessesSeenMax = 10'000;
// What waits for a closed destination is looked at again no sooner than this.
constexpr Duration kClosedPause{1s};

}  // namespace

void Core::State::outcome(Side& side, Delivery& delivery, const Outcome& outcome) {
  Line& line = *delivery.line;
  side.out.landed(delivery);
  if (side.out.cautious > 0 && outcome.verdict != Verdict::client_dead) --side.out.cautious;
  if (outcome.verdict != Verdict::delivered) side.last_error = outcome.reason + ": " + outcome.detail;

  switch (outcome.verdict) {
    case Verdict::delivered: on_delivered(side, delivery); break;
    case Verdict::unknown: on_unknown(side, delivery, outcome); break;
    case Verdict::rejected:
      release_probe(side, delivery);
      ++delivery.attempts;
      die(side, delivery, outcome.reason, outcome.detail);
      break;
    case Verdict::busy:
      if (outcome.scope == Scope::message) {
        release_probe(side, delivery);
        charge(side, delivery, outcome);
      } else {
        give_back(side, delivery, outcome);
      }
      break;
    case Verdict::client_dead:
      // A client that dies of one message sent alone is judged like a 5xx; otherwise its death says nothing.
      if (delivery.sent_alone) {
        if (side.out.cautious > 0) --side.out.cautious;
        on_unknown(side, delivery, outcome);
      } else {
        on_client_dead(side, delivery, outcome);
      }
      break;
  }
  if (line.retreating && line.in_flight == 0) retreat(side, line);
  side.out.wake(line);
}

void Core::State::on_delivered(Side& side, Delivery& delivery) {
  ++side.delivered;
  side.deaths = 0;
  side.last_delivery = database_now_;
  delivery.destination->breaker->succeeded();
  side.out.breaker().succeeded();
  side.wants_new_key = false;
  delivery.destination->failed_probe_key.clear();
  if (delivery.destination->notice.well()) {
    commands_.destination_turns.push_back({side.index, loggable_name(side, *delivery.destination), {}});
  }
  ++delivery.destination->successes;
  commands_.confirmed.push_back(
      {side.index, database_now_ - delivery.record->created_at, now_ - delivery.published_at});
  if (delivery.parked()) {
    ParkedUpdate update;
    update.row = delivery.row;
    update.replays = delivery.replays;
    add_update(side, delivery.line->key, std::move(update));
    if (delivery.line->rows_behind) side.due_at = now_;
  } else {
    progress_.settle(*delivery.ordinal);
  }
  side.out.remove(delivery);
}

// A time-out or a 5xx: the message's fault if another message of the same destination succeeded since this one's last
// try, else the destination's.
void Core::State::on_unknown(Side& side, Delivery& delivery, const Outcome& outcome) {
  Destination& to = *delivery.destination;
  const bool others_succeeded = to.successes > delivery.successes_seen;
  delivery.successes_seen = to.successes;
  delivery.was_tried = true;
  if (others_succeeded || broken(Variant::outage_charges)) {
    release_probe(side, delivery);
    charge(side, delivery, outcome);
  } else {
    give_back(side, delivery, outcome);
  }
}

void Core::State::on_client_dead(Side& side, Delivery& delivery, const Outcome&) {
  release_probe(side, delivery);
  ++side.out.cautious;
  side.out.reclaim(delivery);
}

// It may have probed for two breakers, the destination's and the sink's. Where it was no probe this changes nothing.
void Core::State::release_probe(Side& side, Delivery& delivery) {
  if (!delivery.is_probe || broken(Variant::probe_leaks)) return;
  delivery.destination->breaker->released();
  side.out.breaker().released();
}

const RetryPolicy& Core::State::retry_of(const Side& side, const Delivery& delivery) const {
  return delivery.route->retry ? *delivery.route->retry : side.options.retry;
}

// The message's own failure: it leaves the stream, with one attempt less.
void Core::State::charge(Side& side, Delivery& delivery, const Outcome& outcome) {
  const RetryPolicy& retry = retry_of(side, delivery);
  ++delivery.attempts;
  if (delivery.attempts >= retry.attempts) {
    die(side, delivery, outcome.reason, outcome.detail);
    return;
  }
  if (delivery.attempts == 1) delivery.failing_since = database_now_;
  const Duration failing_for =
      broken(Variant::age_by_last_try) ? now_ - delivery.published_at : database_now_ - delivery.failing_since;
  if (retry.age && failing_for >= *retry.age) {
    die(side, delivery, "too_old", "it has failed for longer than retry.age; last: " + side.last_error);
    return;
  }
  ++side.retried;
  Duration pause = std::max(outcome.after, full_jitter(retry.base, retry.cap, delivery.attempts, random_));
  if (broken(Variant::retry_without_backoff)) pause = Duration(0);
  if (!delivery.parked() && (delivery.line->first != &delivery || !can_wait(*delivery.record))) {
    // What stands before it in its key is not decided: parked now, it would get its order number before that one.
    delivery.retry_at = now_ + pause;
    side.out.reclaim(delivery);
    return;
  }
  park(side, delivery, DeliveryState::waiting, now_ + pause, true, outcome.reason, outcome.detail);
}

// The destination's or the sink's failure: the message keeps its place and its attempts, the breaker counts.
void Core::State::give_back(Side& side, Delivery& delivery, const Outcome& outcome) {
  const bool whole_sink = outcome.verdict == Verdict::busy && outcome.scope == Scope::sink;
  Breaker& breaker = whole_sink ? side.out.breaker() : *delivery.destination->breaker;
  if (delivery.is_probe) {
    delivery.destination->failed_probe_key = delivery.line->key;
    side.wants_new_key = true;
  }
  if (outcome.after > Duration(0)) {
    breaker.wait_until(now_ + outcome.after);
  } else if (!(delivery.is_probe && broken(Variant::probe_leaks))) {
    breaker.failed(now_, delivery.is_probe);
  }
  release_probe(side, delivery);  // of the breaker that it was not about
  const std::string failure = outcome.reason + ": " + outcome.detail;
  if (&breaker == &side.out.breaker()) side.breaker_reason = failure;
  if (!whole_sink) destination_failed(side, *delivery.destination, failure);
  const RetryPolicy& retry = retry_of(side, delivery);
  ++delivery.uncharged;
  Duration pause = full_jitter(retry.base, retry.cap, delivery.uncharged, random_);
  // A probe does not wait for its message's own pause beyond the breaker's.
  if (breaker.state_at(now_) != BreakerState::closed) pause = std::min(pause, breaker.closed_until() - now_);
  delivery.retry_at = now_ + std::max(pause, outcome.after);
  if (broken(Variant::retry_without_backoff)) delivery.retry_at = now_;
  side.out.reclaim(delivery);
}

void Core::State::destination_failed(const Side& side, Destination& to, const std::string& failure) {
  to.last_failure = failure;
  if (to.is_the_sink() || to.breaker->state_at(now_) == BreakerState::closed || !to.notice.ill(now_)) return;
  commands_.destination_turns.push_back({side.index, loggable_name(side, to), to.last_failure});
}

// Where fields lead nowhere else, an address is a URL: it may hold a secret, and the failure names its host.
std::string Core::State::loggable_name(const Side& side, const Destination& destination) {
  return side.options.capabilities.fields_lead_elsewhere ? destination.name : "";
}

void Core::State::die(Side& side, Delivery& delivery, const std::string& reason, const std::string& error) {
  const bool holds = delivery.route->dead_letter_holds_key && can_wait(*delivery.record);
  if (holds && !delivery.parked() && delivery.line->first != &delivery && !broken(Variant::death_out_of_turn)) {
    // Stored now, it would get its order number before what stands before it in its key, and hold that too.
    delivery.doom = std::make_unique<Doom>(Doom{reason, error});
    side.out.reclaim(delivery);
    return;
  }
  note_death(side,
             {side.index, delivery.record, reason, error, delivery.attempts, delivery.route->owner, delivery.row});
  park(side, delivery, DeliveryState::dead, {}, true, reason, error);
}

// Its key goes on when the dead letter is stored: a restart before that would try the message again, and late.
void Core::State::note_death(Side& side, Commands::Died died) {
  ++side.died;
  ++side.out.line(died.record->key).deaths_pending;
  pending_died_.push_back(std::move(died));
}

void Core::State::park(Side& side, Delivery& delivery, DeliveryState state, SteadyTime next_attempt, bool charged,
                       const std::string& reason, const std::string& error) {
  Line& line = *delivery.line;
  if (state == DeliveryState::waiting) remember_successes(side, delivery);
  const bool holds =
      state == DeliveryState::dead && delivery.route->dead_letter_holds_key && can_wait(*delivery.record);
  if (delivery.parked()) {
    ParkedUpdate update;
    update.row = delivery.row;
    update.replays = delivery.replays;
    update.kind = state == DeliveryState::dead ? ParkedUpdate::Kind::dead : ParkedUpdate::Kind::waiting;
    update.attempts = delivery.attempts;
    if (state == DeliveryState::waiting) update.next_attempt = stored(next_attempt);
    update.holds_key = holds;
    update.reason = reason;
    update.error = error;
    add_update(side, line.key, std::move(update));
    if (state == DeliveryState::waiting) side.due_at = std::min(side.due_at, next_attempt);
  } else {
    Park park;
    park.record = delivery.record;
    park.sink = side.options.name;
    park.state = state;
    park.attempts = delivery.attempts;
    if (state == DeliveryState::waiting) park.next_attempt = stored(next_attempt);
    park.charged = charged;
    park.holds_key = holds;
    park.reason = reason;
    park.error = error;
    park.owner = delivery.route->owner;
    add_park(side, std::move(park));
    progress_.settle(*delivery.ordinal);
  }
  const bool key_waits = (state == DeliveryState::waiting || holds) && !(holds && broken(Variant::hold_ignored));
  if (state == DeliveryState::dead && !holds && line.rows_behind) side.due_at = now_;
  side.out.remove(delivery);
  if (!key_waits || broken(Variant::park_without_followers)) return;
  line.rows_behind = true;
  line.retreating = true;
  if (line.in_flight == 0) retreat(side, line);
}

void Core::State::remember_successes(Side& side, const Delivery& delivery) {
  if (!delivery.was_tried || side.successes_seen.size() >= kSuccessesSeenMax) return;
  side.successes_seen[delivery.record->id] = delivery.successes_seen;
}

void Core::State::add_park(Side& side, Park park) {
  side.concerns_stream = true;
  side.parked_since_due = true;
  count_park(side.parked, park);
  if (!park.charged && !park.not_due) side.wants_new_key = false;
  if (blocks_key(park)) {
    Line& line = side.out.line(park.record->key);
    ++line.parks_pending;
    line.rows_behind = true;
  }
  pending_.parks.push_back(std::move(park));
}

void Core::State::count_park(ParkedCounts& counts, const Park& park) {
  if (park.state == DeliveryState::dead) {
    ++counts.dead;
    return;
  }
  ++counts.waiting;
  if (!park.charged && !park.not_due) ++counts.uncharged;
  if (park.not_due) ++counts.not_due;
}

void Core::State::add_update(const Side& side, const std::string& key, ParkedUpdate update) {
  pending_.updates.push_back(std::move(update));
  updated_keys_.emplace_back(&side, key);
}

// The head of a key was parked: what stands behind it in memory follows, in order, once nothing of it is in flight.
// What came from the side table is simply let go: its row is still there.
void Core::State::retreat(Side& side, Line& line) {
  line.retreating = false;
  while (!line.empty()) {
    Delivery* follower = line.first;
    remember_successes(side, *follower);
    if (!follower->parked()) {
      Park park;
      park.record = follower->record;
      park.sink = side.options.name;
      park.attempts = follower->attempts;
      park.next_attempt = stored(std::max(now_, follower->retry_at));
      park.charged = !waits_for_destination(side);
      park.reason = "behind_key";
      park.owner = follower->route->owner;
      add_park(side, std::move(park));
      progress_.settle(*follower->ordinal);
    }
    side.out.remove(*follower);
  }
}

// Its destination admits nothing while others of the sink do: it leaves the stream, uncharged, so that it holds nobody.
void Core::State::destination_closed(Side& side, Delivery& delivery) {
  const Destination& to = *delivery.destination;
  SteadyTime until = std::max(to.breaker->closed_until(), now_ + kClosedPause);
  // The next probe is another key's, if there is one: those are due by then.
  if (delivery.line->key == to.failed_probe_key && !broken(Variant::probe_same_key)) until += 2 * kClosedPause;
  if (!delivery.parked() && (at_cap(side) || !can_wait(*delivery.record))) {
    delivery.retry_at = until;
    side.out.wake(*delivery.line);
    return;
  }
  const std::string name = loggable_name(side, to);
  const std::string which = name.empty() ? "" : " of '" + name + "'";
  park(side, delivery, DeliveryState::waiting, until, false, "destination_closed",
       "the breaker" + which + " lets nothing through: " + to.last_failure);
}

}  // namespace outbox
