#include "sim_sink.h"

#include <algorithm>

namespace outbox::sim {

SimSink::SimSink(World world, FarEnd& far_end, std::size_t sink) : world_(world), far_end_(far_end), sink_(sink) {}

Result<void> SimSink::open(CompletionListener& listener) {
  listener_ = &listener;
  return {};
}

void SimSink::publish(std::span<const Publication> batch) {
  const auto& plan = world_.scenario.sinks[sink_];
  for (const auto& publication : batch) {
    const auto& key = publication.record->key;
    const bool key_in_flight = std::any_of(state_->flights.begin(), state_->flights.end(), [&](const auto& each) {
      return each.second.publication.record->key == key;
    });
    if (key_in_flight && !pipelines()) {
      world_.witness.broken("{}: two messages of {} in flight at a sink that takes one", plan.name, key);
    }
    if (!state_->flights.empty() && publication.id <= state_->flights.rbegin()->first) {
      world_.witness.broken("{}: delivery id {} is not new", plan.name, publication.id);
    }
    state_->flights.emplace(publication.id, Flight{publication, life_});
    if (state_->flights.size() > plan.window_messages) {
      world_.witness.broken("{}: {} messages in flight, {} allowed", plan.name, state_->flights.size(),
                            plan.window_messages);
    }
    if (state_->dead || refuse(publication)) continue;
    auto& last = state_->last_arrival[key];
    last = std::max(last, world_.loop.now() + world_.dice.between(Duration(0), world_.scenario.delay_max));
    world_.loop.at(last, [this, state = state_, id = publication.id] { receive(state, id); });
    if (world_.dice.chance(world_.faults.client_dies)) die();
  }
}

// What the relay handed over before it took note of a failure of the key comes back as well.
bool SimSink::refuse(const Publication& publication) {
  const auto failed = state_->failed_keys.find(publication.record->key);
  if (failed == state_->failed_keys.end()) return false;
  if (publication.first_in_key) {
    state_->failed_keys.erase(failed);
    return false;
  }
  state_->flights.at(publication.id).failing = true;
  world_.loop.after(
      world_.dice.between(Duration(0), world_.scenario.delay_max),
      [this, state = state_, id = publication.id, outcome = failed->second] { report(state, id, outcome); });
  return true;
}

bool SimSink::blocked(const State& state, DeliveryId id, const std::string& key) const {
  for (const auto& [other, flight] : state.flights) {
    if (other >= id) return false;
    if (flight.failing && flight.publication.record->key == key) return true;
  }
  return false;
}

void SimSink::receive(const std::shared_ptr<State>& state, DeliveryId id) {
  const auto found = state->flights.find(id);
  if (found == state->flights.end() || state->dead) return;
  if (asleep() && id > on_wire_) {
    world_.loop.at(stopped_until_, [this, state, id] { receive(state, id); });
    return;
  }
  if (world_.loop.now() > found->second.lapsed_at) {
    world_.witness.broken("the client hands {} on although its relay knows that its lease has run out",
                          found->second.publication.record->id);
  }
  Flight& flight = found->second;
  // Behind a failure of its key it never leaves: it comes back with that one.
  if (blocked(*state, id, flight.publication.record->key)) return;
  flight.received = true;
  const bool alone = state->flights.size() == 1;
  const Answer answer = far_end_.receive(flight.publication, world_.faults);
  const bool fine = answer.outcome.verdict == Verdict::delivered;
  flight.failing = !fine && (fragile() || answer.outcome.verdict != Verdict::rejected);
  if (flight.failing && fragile() && !alone) {
    if (!asleep()) return die();
    world_.loop.at(stopped_until_, [this, state] {
      if (state == state_) die();
    });
    return;
  }
  world_.loop.after(answer.late + world_.dice.between(Duration(0), world_.scenario.delay_max),
                    [this, state, id, outcome = answer.outcome] { report(state, id, outcome); });
}

void SimSink::report(const std::shared_ptr<State>& state, DeliveryId id, const Outcome& outcome) {
  const auto found = state->flights.find(id);
  if (found == state->flights.end() || state->dead) return;
  if (asleep()) {
    world_.loop.at(stopped_until_, [this, state, id, outcome] { report(state, id, outcome); });
    return;
  }
  std::vector<std::pair<DeliveryId, Outcome>> outcomes{{id, outcome}};
  if (found->second.failing && pipelines()) {
    const std::string key = found->second.publication.record->key;
    state->failed_keys[key] = outcome;
    for (auto later = std::next(found); later != state->flights.end(); ++later) {
      if (later->second.publication.record->key == key) outcomes.emplace_back(later->first, outcome);
    }
    if (world_.dice.chance(0.5)) std::reverse(outcomes.begin(), outcomes.end());
  }
  complete(*state, std::move(outcomes));
}

void SimSink::complete(State& state, std::vector<std::pair<DeliveryId, Outcome>> outcomes) {
  std::vector<Completion> completions;
  const bool alone = state.flights.size() == 1;
  for (auto& [id, outcome] : outcomes) {
    const auto flight = state.flights.extract(id);
    world_.trace("outcome {} at {}: {}{}", flight.mapped().publication.record->id, world_.scenario.sinks[sink_].name,
                 outcome.reason.empty() ? "delivered" : outcome.reason,
                 outcome.after.count() != 0 ? fmt::format(", wait {} ms", outcome.after.count() / 1000) : "");
    world_.witness.reported(flight.mapped().life, sink_, flight.mapped().publication, outcome, alone);
    completions.push_back({id, std::move(outcome)});
  }
  listener_->completed(std::move(completions));
}

// Of each key, what was sent first may still arrive; nothing behind a gap does.
void SimSink::orphan(const State& state) {
  auto stopped = std::make_shared<std::set<std::string>>();
  std::map<std::string, Time> last;
  for (const auto& [id, flight] : state.flights) {
    const auto& key = flight.publication.record->key;
    if (flight.failing || (!flight.received && world_.dice.chance(0.4))) stopped->insert(key);
    if (flight.received || stopped->contains(key)) continue;
    auto& time = last[key];
    time = std::max(time, world_.loop.now() + world_.dice.between(Duration(0), world_.scenario.delay_max));
    Publication sent = flight.publication;
    sent.record = std::make_shared<const Record>(*sent.record);  // on the wire, not in the relay's memory
    world_.loop.at(time, [&far_end = far_end_, stopped, publication = std::move(sent)] {
      if (stopped->contains(publication.record->key)) return;
      const auto verdict = far_end.receive(publication, {}).outcome.verdict;
      if (verdict != Verdict::delivered && verdict != Verdict::rejected) stopped->insert(publication.record->key);
    });
  }
}

void SimSink::die() {
  if (state_->dead || state_->flights.empty()) return;
  state_->dead = true;
  world_.trace("client  {} dies with {} in flight", world_.scenario.sinks[sink_].name, state_->flights.size());
  orphan(*state_);
  const bool all = world_.dice.chance(0.5);
  world_.loop.after(world_.dice.between(Duration(0), Duration(5ms)), [this, state = state_, all] {
    std::vector<std::pair<DeliveryId, Outcome>> outcomes;
    for (const auto& [id, flight] : state->flights) {
      outcomes.emplace_back(id, client_dead("fatal", "the client had to be given up"));
      if (!all) break;
    }
    if (!outcomes.empty()) complete(*state, std::move(outcomes));
  });
}

Result<void> SimSink::reopen() {
  auto old = std::exchange(state_, std::make_shared<State>());
  if (!old->dead) orphan(*old);
  old->dead = true;
  std::vector<std::pair<DeliveryId, Outcome>> outcomes;
  for (const auto& [id, flight] : old->flights) outcomes.emplace_back(id, client_dead("fatal", "reopened"));
  if (!outcomes.empty()) complete(*old, std::move(outcomes));
  return {};
}

std::size_t SimSink::strays() const {
  return static_cast<std::size_t>(std::count_if(state_->flights.begin(), state_->flights.end(),
                                                [&](const auto& each) { return each.second.life != life_; }));
}

void SimSink::stopped_until(Time until) {
  if (!asleep()) {
    const auto count = static_cast<int>(state_->flights.size());
    const int sent = world_.dice.between(0, count);
    on_wire_ = sent == 0 ? 0 : std::next(state_->flights.begin(), sent - 1)->first;
  }
  stopped_until_ = until;
}

void SimSink::lapsed() {
  for (auto& [id, flight] : state_->flights) flight.lapsed_at = world_.loop.now();
}

void SimSink::crash() {
  if (!state_->dead) orphan(*state_);
  state_->dead = true;
  state_->flights.clear();
}

}  // namespace outbox::sim
