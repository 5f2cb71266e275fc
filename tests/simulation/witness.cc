#include "witness.h"

#include <algorithm>
#include <utility>

#include "record.h"
#include "sim_leases.h"

namespace outbox::sim {

namespace {
constexpr Duration kLongestWait{10s};  // of a backoff, an open breaker, a far end that asks to wait, together
constexpr Duration kHearsOfClock{4s};
}  // namespace

Witness::Witness(const Scenario& scenario, Database& database, Loop& loop, Trace& trace)
    : scenario_(scenario), database_(database), loop_(loop), trace_(trace) {
  fates_.resize(scenario.sinks.size());
  arrivals_.resize(scenario.sinks.size());
}

void Witness::note(std::string text) {
  broken_promise_ = std::move(text);
  trace_("!!      {}", broken_promise_);
}

Fate& Witness::fate(std::size_t sink, const Message& message) {
  auto& fates = fates_[sink];
  if (fates.size() < database_.messages().size()) fates.resize(database_.messages().size());
  return fates[static_cast<std::size_t>(message.index)];
}

std::size_t Witness::sink_index(const std::string& name) const {
  for (std::size_t i = 0; i < scenario_.sinks.size(); ++i) {
    if (scenario_.sinks[i].name == name) return i;
  }
  return 0;
}

const Route* Witness::route(std::size_t sink, const Message& message) const {
  for (const auto& route : scenario_.routes) {
    if (route.sink == scenario_.sinks[sink].name && (!route.aggregate_type || *route.aggregate_type == message.type)) {
      return &route;
    }
  }
  return nullptr;
}

bool Witness::routed_anywhere(const Message& message) const {
  return std::any_of(scenario_.routes.begin(), scenario_.routes.end(), [&](const Route& route) {
    return !route.aggregate_type || *route.aggregate_type == message.type;
  });
}

void Witness::published(const Publisher& by, std::size_t sink, const Publication& publication) {
  const auto& message = database_.message(publication.record->id);
  const auto& name = scenario_.sinks[sink].name;
  const Route* to = route(sink, message);
  if (!message.committed) broken("{} published to {} although it is not committed", message.id, name);
  if (to == nullptr || expand(*to, *publication.record) != publication.destination) {
    return broken("{} published to {} {}, where no route leads", message.id, name, publication.destination);
  }
  if (by.lapsed) broken("{} published to {} although the relay's lease has run out", message.id, name);
  if (by.stale) broken("{} published to {} by a relay that does not own the share", message.id, name);
  if (by.paused) broken("{} published to {} although that is paused", message.id, name);
  if (by.fenced) broken("{} published to {} by a relay that knows it is fenced", message.id, name);
  if (message.not_before && *message.not_before > database_.now()) {
    broken("{} published to {} before it was due", message.id, name);
  }
  const std::size_t payload_max = scenario_.sinks[sink].payload_max;
  if (payload_max != 0 && publication.record->payload.size() > payload_max) {
    broken("{} published to {} although it is larger than the sink takes", message.id, name);
  }
  check_again(by, sink, message, *publication.record);
  check_held(by, sink, message);
  check_backoff(by, sink, message);
  check_age(by, sink, message);
  check_budget(by, sink, message, *publication.record);
  auto& known = fate(sink, message);
  known.try_step = loop_.step();
  known.exposed = false;
  if (++known.tries > 1000) broken("{} published to {} a thousand times", message.id, name);
}

void Witness::taken_over(const Lanes& lanes) {
  for (const auto& message : database_.messages()) {
    if (!holds(lanes, message.lane)) continue;
    for (std::size_t sink = 0; sink < fates_.size(); ++sink) {
      auto& known = fate(sink, message);
      const bool settled = known.covered_step != 0 && known.row_step == 0;
      if (known.tries == 0 || settled || std::exchange(known.exposed, true)) continue;
      ++exposed_;
    }
  }
}

void Witness::check_duplicates(std::int64_t duplicates) {
  const std::int64_t most = doubts_ + exposed_ + requeued_;
  if (duplicates > most) broken("{} duplicates, and only {} have a cause", duplicates, most);
}

void Witness::check_again(const Publisher& by, std::size_t sink, const Message& message, const Record& record) {
  const auto& known = fate(sink, message);
  const auto& name = scenario_.sinks[sink].name;
  if (known.confirmed_to == by.life && !by.stale) {
    broken("{} published to {} again, after its confirmation, by the same relay", message.id, name);
  }
  const Reading reading = reading_of(record);
  if (by.stale || reading.origin != Origin::stream) return;
  if (known.row_step != 0 && reading.step > known.row_step) {
    broken("{} published to {} from the stream although it was parked{}", message.id, name,
           known.touched ? " and the operator has handled it: it came back" : "");
  }
  if (known.covered_step != 0 && reading.step > known.covered_step) {
    broken("{} published to {} again although it was settled before it was read", message.id, name);
  }
}

void Witness::check_held(const Publisher& by, std::size_t sink, const Message& message) {
  // What was not due takes its place when it is released: in front of what came before it and is held.
  if (!route(sink, message)->dead_letter_holds_key || message.not_before) return;
  for (const auto& other : database_.messages()) {
    if (other.n >= message.n || !other.committed || other.key != message.key) continue;
    const auto& known = fate(sink, other);
    if ((known.dead && !by.stale) || known.rejected_to == by.life) {
      broken("{} published to {} past the dead letter {} that holds its key", message.id, scenario_.sinks[sink].name,
             other.id);
    }
  }
}

// It has just been stored: what came before it in its key must be decided, or it waits behind this one.
void Witness::check_turn(std::size_t sink, const Message& message) {
  const Route* to = route(sink, message);
  if (to == nullptr || !to->dead_letter_holds_key) return;
  for (const auto& other : database_.messages()) {
    if (other.n >= message.n || !other.committed || other.key != message.key || other.not_before) continue;
    const auto& known = fate(sink, other);
    if (known.confirmed || known.row_step != 0 || known.covered_step != 0 || other.truncated) continue;
    broken("{} dead at {} and holds its key while {}, which came before it, is not decided", message.id,
           scenario_.sinks[sink].name, other.id);
  }
}

void Witness::check_backoff(const Publisher& by, std::size_t sink, const Message& message) {
  const auto& known = fate(sink, message);
  if (known.charged_to == by.life && loop_.now() + by.lag < known.charged_at + kBackoffFloor) {
    broken("{} published to {} again without a backoff", message.id, scenario_.sinks[sink].name);
  }
}

const RetryPolicy& Witness::retry_of(std::size_t sink, const Message& message) const {
  const Route* to = route(sink, message);
  return to != nullptr && to->retry ? *to->retry : scenario_.options.sinks[sink].retry;
}

// It failed once more when it was too old, by its row and the clock of the relay that heard it.
void Witness::check_age(const Publisher& by, std::size_t sink, const Message& message) {
  const auto& known = fate(sink, message);
  const auto& age = retry_of(sink, message).age;
  if (!age || known.charged_to != by.life || known.failing_step == 0) return;
  if (known.charged_at - by.lag - known.failing_since < *age) return;
  broken("{} published to {} again although it was too old at its last failure", message.id,
         scenario_.sinks[sink].name);
}

void Witness::check_budget(const Publisher& by, std::size_t sink, const Message& message, const Record& record) {
  const auto& known = fate(sink, message);
  const Reading reading = reading_of(record);
  const bool again = known.charged_to == by.life ||
                     (reading.origin == Origin::parked && known.failing_step != 0 && reading.step > known.failing_step);
  auto& tries = tries_[{by.life / 1000, sink}];
  ++(again ? tries.again : tries.first);
  const auto& budget = scenario_.options.sinks[sink].budget;
  const double seconds = std::chrono::duration<double>(loop_.now() - by.since).count();
  const double most = budget.per_second * (1 + seconds) + tries.first * budget.percent / 100.0;
  if (tries.again > most + 1e-6) {
    broken("{} retries at {} by one relay, and its budget allows {:.1f}", tries.again, scenario_.sinks[sink].name,
           most);
  }
}

void Witness::failing(const std::string& sink, const Message& message) {
  auto& known = fate(sink_index(sink), message);
  known.failing_since = loop_.now();
  known.failing_step = loop_.step();
}

void Witness::reported(int life, std::size_t sink, const Publication& publication, const Outcome& outcome, bool alone) {
  const auto& message = database_.message(publication.record->id);
  auto& known = fate(sink, message);
  auto& successes = successes_[scenario_.sinks[sink].name + publication.destination];
  const bool in_doubt = outcome.verdict == Verdict::unknown || outcome.verdict == Verdict::client_dead;
  if (in_doubt) ++doubts_;
  const bool by_message = outcome.verdict == Verdict::busy && outcome.scope == Scope::message;
  if (outcome.verdict != Verdict::delivered && outcome.verdict != Verdict::rejected && !by_message) ++failures_[sink];
  if ((in_doubt || by_message) && known.failed_at == Time{}) known.failed_at = loop_.now();
  switch (outcome.verdict) {
    case Verdict::delivered:
      known.confirmed = true;
      known.confirmed_step = loop_.step();
      known.confirmed_to = life;
      if (successes.message != message.index) successes.other_step = successes.step;
      successes.message = message.index;
      successes.step = loop_.step();
      break;
    case Verdict::rejected:
      if (!known.discarded) known.rejected_to = life;
      break;
    case Verdict::busy:
      if (!by_message) break;
      known.charged_at = loop_.now();
      known.charged_to = life;
      ++known.charges;
      break;
    case Verdict::client_dead:
      if (!alone) break;
      [[fallthrough]];
    case Verdict::unknown: {
      const auto success = successes.message == message.index ? successes.other_step : successes.step;
      if (success != 0 && success >= known.judged_step) ++known.charges;
      known.judged_step = known.try_step;
      break;
    }
  }
}

void Witness::arrived(std::size_t sink, const Message& message, int version) {
  auto& known = fate(sink, message);
  ++known.arrivals;
  arrivals_[sink].push_back({message.index, version});
  trace_("arrives {} at {} {}#{}{}", message.id, scenario_.sinks[sink].name, message.key, message.n,
         known.arrivals > 1 ? " (again)" : "");
}

void Witness::position_moved(const Lanes& lanes, const Position& before, const Position& after) {
  if (after.ahead.size() > scenario_.options.ahead_max) {
    broken("the position holds {} seqs ahead, more than {}", after.ahead.size(), scenario_.options.ahead_max);
  }
  Position prefix_before = before;
  Position prefix_after = after;
  prefix_before.ahead.clear();
  prefix_after.ahead.clear();
  for (const auto& message : database_.messages()) {
    if (!holds(lanes, message.lane)) continue;
    const bool covered = message.committed && database_.covered(message, after);
    auto& known = fate(0, message);
    if (covered && known.covered_step == 0 && !message.truncated) check_settled(message);
    const bool told = known.confirmed_to == writing_life_ && known.confirmed_step < writing_step_;
    if (told && !covered && known.row_step == 0 && after.ahead.size() < scenario_.options.ahead_max) {
      broken("{} was confirmed and is not in the position stored after it: a restart sends it again", message.id);
    }
    if (!covered) known.covered_step = 0;
    if (covered && known.covered_step == 0) known.covered_step = loop_.step();
    if (message.committed && database_.covered(message, prefix_before) && !database_.covered(message, prefix_after)) {
      broken("the position moved back behind {}", message.id);
    }
  }
}

void Witness::marked(const Message& message) {
  check_settled(message);
  for (std::size_t sink = 0; sink < scenario_.sinks.size(); ++sink) fate(sink, message).covered_step = loop_.step();
}

void Witness::check_settled(const Message& message) {
  if (!routed_anywhere(message)) {
    if (fate(0, message).row_step == 0) broken("{} settled although it is neither sent nor a no_route", message.id);
    return;
  }
  for (std::size_t sink = 0; sink < scenario_.sinks.size(); ++sink) {
    if (route(sink, message) == nullptr) continue;
    const auto& known = fate(sink, message);
    if (!known.confirmed && known.row_step == 0) {
      broken("{} settled at {} although it is neither confirmed nor parked", message.id, scenario_.sinks[sink].name);
    }
  }
}

void Witness::parked(const std::string& sink, const Message& message, bool dead, const std::string& reason) {
  const std::size_t index = sink_index(sink);
  auto& known = fate(index, message);
  trace_("store   {} {} at {}: {}", message.id, dead ? "dead" : "parked", sink, reason);
  if (known.row_step == 0) known.row_step = loop_.step();
  known.dead = dead;
  if (!dead) return;
  check_death(index, message, reason);
  check_turn(index, message);
}

void Witness::row_updated(const std::string& sink, const Message& message, ParkedUpdate::Kind kind,
                          const std::string& reason) {
  const std::size_t index = sink_index(sink);
  constexpr const char* kKinds[] = {"done", "waiting", "dead"};
  trace_("store   {} at {} {} {}", message.id, sink, kKinds[static_cast<int>(kind)], reason);
  auto& known = fate(index, message);
  if (known.discarded) broken("{} discarded at {} came back to life", message.id, sink);
  known.dead = kind == ParkedUpdate::Kind::dead;
  if (known.dead) check_death(index, message, reason);
  if (kind == ParkedUpdate::Kind::done && !known.confirmed) {
    broken("{} counts as delivered at {} although it was never confirmed", message.id, sink);
  }
}

void Witness::check_death(std::size_t sink, const Message& message, const std::string& reason) {
  auto& known = fate(sink, message);
  known.was_dead = true;
  const bool own_fault = known.rejected_to != -1 || reason == "no_route" || message.kind == MessageKind::too_large;
  if (own_fault) return;
  const RetryPolicy& retry = retry_of(sink, message);
  if (reason == "too_old") {
    if (retry.age && known.failed_at != Time{} && loop_.now() - known.failed_at >= *retry.age) return;
    return broken("{} dead at {} of its age, which it has not reached", message.id, scenario_.sinks[sink].name);
  }
  if (known.charges < retry.attempts) {
    broken("{} dead at {} ({}) after {} tries that could be charged, of {}", message.id, scenario_.sinks[sink].name,
           reason, known.charges, retry.attempts);
  }
}

void Witness::parked_for_destination(const std::string& sink, std::int64_t rows, bool follows) {
  const auto& options = scenario_.options;
  const std::size_t window = std::max(options.window_records, options.page_records);
  // One key may take a whole window with it, and a page may have been on its way. At the cap a probe that failed may
  // read one more, which stands behind its key.
  auto cap = options.sinks[sink_index(sink)].parked_max + window + options.page_records;
  if (follows) cap += static_cast<std::size_t>(failures_[sink_index(sink)]);
  if (rows > static_cast<std::int64_t>(cap)) {
    broken("{} deliveries parked at {} for want of a destination, beyond the cap and a window", rows, sink);
  }
}

// Whoever has not read since the clock was set does not know of it.
void Witness::waits_until(const std::string& sink, const Message& message, Time next_attempt) {
  const Duration wait = next_attempt - database_.now();
  if (wait <= kLongestWait || loop_.now() < clock_set_at_ + kHearsOfClock) return;
  broken("{} parked at {} for {} s, longer than any backoff", message.id, sink, wait.count() / 1'000'000);
}

void Witness::check_goes_on(std::size_t sink, Time created_before) {
  for (const auto& message : database_.messages()) {
    if (!message.committed || message.created_at > created_before || route(sink, message) == nullptr) continue;
    const auto& known = fate(sink, message);
    if (known.confirmed || known.row_step != 0) continue;
    return broken("{} has not come to {} although nothing holds it", message.id, scenario_.sinks[sink].name);
  }
}

void Witness::discarded(const std::string& sink, const Message& message) {
  auto& known = fate(sink_index(sink), message);
  known.dead = false;
  known.rejected_to = -1;
  known.touched = true;
  known.discarded = true;
}

void Witness::requeued(const std::string& sink, const Message& message, bool) {
  auto& known = fate(sink_index(sink), message);
  known.dead = false;
  known.rejected_to = -1;
  known.touched = true;
  ++requeued_;
  known.charges = 0;
  known.charged_to = -1;
  known.failed_at = {};
  known.failing_since = {};
  known.failing_step = 0;
}

}  // namespace outbox::sim
