#include "simulation.h"

#include <algorithm>

#include "app/checker.h"

namespace outbox::sim {

namespace {

constexpr std::uint64_t kStepsMax = 500'000;
constexpr Duration kHealedMax{180s};  // of virtual time, for all that is left to do
constexpr Duration kCloseMax{60s};
constexpr Duration kTend{500ms};
constexpr std::size_t kProcessesMax = 4;
// When the database's clock is set, early in the chaos; and by then all has to have come that was written so long ago:
// what keeps its transaction open, fails twice and meets a breaker takes its time.
constexpr Duration kClockIsSet{6s};
constexpr Duration kClockPatience{12s};

}  // namespace

Simulation::Simulation(Scenario scenario, Trace::Mode trace)
    : scenario_(std::move(scenario)),
      faults_(scenario_.faults),
      trace_(loop_, trace),
      dice_(scenario_.seed ^ 0xD1CE),
      database_(scenario_, loop_, trace_, dice_),
      witness_(scenario_, database_, loop_, trace_),
      leases_(scenario_, loop_, trace_),
      store_(scenario_, database_, loop_, leases_, witness_, trace_) {
  for (std::size_t i = 0; i < scenario_.sinks.size(); ++i) {
    far_ends_.push_back(std::make_unique<FarEnd>(scenario_, i, dice_, witness_, trace_));
  }
}

RunResult Simulation::run() {
  database_.start_writers();
  for (int i = 0; i < scenario_.processes; ++i) start_process();
  plan_chaos();
  if (scenario_.one_down == Scenario::OneDown::down) far_ends_[0]->whole(FarEnd::Trouble::refuses);
  if (scenario_.one_down == Scenario::OneDown::paused) processes_[0]->pause(0, true);
  loop_.after(scenario_.chaos, [this] { heal(); });
  supervise();

  RunResult result;
  result.seed = scenario_.seed;
  while (witness_.broken_promise().empty() && loop_.run_one()) {
    const bool over = closing_ && running().empty();
    if (over) break;
    if (loop_.step() > kStepsMax) witness_.broken("no end after {} steps: {}", loop_.step(), what_is_left());
  }
  if (witness_.broken_promise().empty()) verify(result);
  result.failure = witness_.broken_promise();
  result.steps = loop_.step();
  result.digest = trace_.digest();
  result.crashes = crashes_;
  return result;
}

void Simulation::plan_chaos() {
  const auto plan = [this](int times, void (Simulation::*what)()) {
    for (int i = 0; i < times; ++i) {
      loop_.after(dice_.between(Duration(0), scenario_.chaos), [this, what] {
        if (!healed_) (this->*what)();
      });
    }
  };
  const auto& events = scenario_.events;
  plan(events.crashes, &Simulation::crash);
  plan(events.joins, &Simulation::join);
  plan(events.leaves, &Simulation::leave);
  plan(events.sink_pauses, &Simulation::pause_sink);
  plan(events.sink_outages, &Simulation::sink_outage);
  plan(events.destination_outages, &Simulation::destination_outage);
  plan(events.store_outages, &Simulation::store_outage);
  plan(events.operator_actions, &Simulation::operate);
  plan(events.redrives, &Simulation::redrive);
  plan(events.truncations, &Simulation::truncate);
  plan(events.retentions, &Simulation::prune);
  for (int i = 0; i < events.clock_steps; ++i) {
    loop_.after(dice_.between(Duration(0), kClockIsSet), [this] { set_clock(); });
  }
  for (int i = 0; i < events.stops; ++i) {
    loop_.after(dice_.between(Duration(0), scenario_.chaos), [this] {
      if (const auto all = running(); !all.empty())
        dice_.pick(all)->stop_for(dice_.between(Duration(50ms), Duration(4s)));
    });
  }
}

std::vector<Process*> Simulation::running() {
  std::vector<Process*> all;
  for (const auto& process : processes_) {
    if (process->running()) all.push_back(process.get());
  }
  return all;
}

void Simulation::start_process() {
  const int number = static_cast<int>(processes_.size()) + 1;
  processes_.push_back(std::make_unique<Process>(Relay::World{scenario_, faults_, store_down_, loop_, dice_, witness_,
                                                              trace_, database_, store_, leases_, far_ends_},
                                                 number));
  processes_.back()->start();
}

// What a process manager does: there is always one relay.
void Simulation::supervise() {
  if (closing_) return;
  if (running().empty()) start_process();
  loop_.after(Duration(200ms), [this] { supervise(); });
}

void Simulation::crash() {
  const auto all = running();
  if (all.empty()) return;
  Process* process = dice_.pick(all);
  if (process->in_flight() > 0) ++crashes_;
  process->crash();
}

void Simulation::join() {
  if (running().size() < kProcessesMax) start_process();
}

void Simulation::leave() {
  if (const auto all = running(); !all.empty()) dice_.pick(all)->leave();
}

void Simulation::pause_sink() {
  const auto sink = static_cast<std::size_t>(dice_.between(0, static_cast<int>(far_ends_.size()) - 1));
  for (Process* process : running()) process->pause(sink, true);
  loop_.after(dice_.between(Duration(100ms), Duration(2s)), [this, sink] {
    for (Process* process : running()) process->pause(sink, false);
  });
}

void Simulation::sink_outage() {
  FarEnd& far_end = *far_ends_[static_cast<std::size_t>(dice_.between(0, static_cast<int>(far_ends_.size()) - 1))];
  far_end.whole(static_cast<FarEnd::Trouble>(dice_.between(1, 4)));
  loop_.after(dice_.between(Duration(100ms), Duration(4s)), [&far_end] { far_end.whole(FarEnd::Trouble::none); });
}

void Simulation::destination_outage() {
  FarEnd& far_end = *far_ends_[static_cast<std::size_t>(dice_.between(0, static_cast<int>(far_ends_.size()) - 1))];
  const std::string name = dice_.pick(far_end.destinations());
  far_end.destination(name, static_cast<FarEnd::Trouble>(dice_.between(1, 4)));
  loop_.after(dice_.between(Duration(100ms), Duration(4s)),
              [&far_end, name] { far_end.destination(name, FarEnd::Trouble::none); });
}

void Simulation::store_outage() {
  trace_("world   the database is out of reach");
  store_down_ = true;
  loop_.after(dice_.between(Duration(50ms), Duration(2s)), [this] {
    trace_("world   the database is back");
    store_down_ = false;
  });
}

void Simulation::operate() {
  std::vector<SimStore::Row*> rows;
  for (auto& row : store_.rows()) {
    if (row.state != DeliveryState::settled) rows.push_back(&row);
  }
  if (rows.empty()) return;
  SimStore::Row& row = *dice_.pick(rows);
  if (row.state == DeliveryState::waiting || dice_.chance(0.4)) return store_.discard(row);
  store_.requeue(row, dice_.chance(0.5));
}

void Simulation::set_clock() {
  const Duration forward = dice_.between(-1, 1) * Duration(1h);
  clock_forward_max_ = std::max(clock_forward_max_, forward);
  database_.set_clock(forward);
  witness_.clock_set();
}

void Simulation::redrive() {
  const auto& sink = dice_.pick(scenario_.sinks).name;
  trace_("operator requeues all that is dead at {}", sink);
  redrive_on(store_.begin_walk(sink), static_cast<std::size_t>(dice_.between(1, 10)));
}

// Steps come one after the other, whatever the relays do between them.
void Simulation::redrive_on(SimStore::Walk walk, std::size_t max_rows) {
  if (healed_ || !store_.requeue(walk, max_rows)) return;
  loop_.after(dice_.between(Duration(10), scenario_.delay_max),
              [this, walk = std::move(walk), max_rows] { redrive_on(walk, max_rows); });
}

void Simulation::prune() {
  const auto removed = *store_.prune({scenario_.options.feed}, {}, dice_.between(1, 50), false);
  trace_("world   retention removes {} rows", removed);
}

// A relay that lives has the rows of before in memory; one that starts anew has only their numbers.
void Simulation::truncate() {
  if (!database_.truncate()) return;
  if (scenario_.events.crashes > 0)
    loop_.after(dice_.between(Duration(0), Duration(100ms)), [this] {
      if (!healed_) crash();
    });
}

void Simulation::heal() {
  trace_("world   heals");
  // A transaction may stay open for three seconds.
  if (scenario_.one_down != Scenario::OneDown::none) {
    witness_.check_goes_on(1, loop_.now() - Duration(5s));
    processes_[0]->pause(0, false);
  }
  if (scenario_.events.clock_steps > 0) {
    for (std::size_t sink = 0; sink < scenario_.sinks.size(); ++sink) {
      witness_.check_goes_on(sink, loop_.now() - kClockPatience);
    }
    database_.set_clock(clock_forward_max_);  // what was parked before the clock was set back waits for that moment
  }
  healed_ = true;
  faults_ = {};
  store_.heal();
  store_down_ = false;
  for (const auto& far_end : far_ends_) far_end->heal();
  loop_.after(kHealedMax, [this] {
    if (!closing_)
      witness_.broken("{} s after the world healed there is still {}", kHealedMax.count() / 1'000'000, what_is_left());
  });
  tend();
}

// Until all is done, good messages keep coming: a breaker learns by them that its destination is well.
void Simulation::tend() {
  if (closing_) return;
  release_held_keys();
  if (done()) return close_down();
  database_.write_trickle();
  loop_.after(kTend, [this] { tend(); });
}

void Simulation::release_held_keys() {
  for (auto& row : store_.rows()) {
    if (row.state == DeliveryState::dead && row.holds_key && dice_.chance(0.5)) store_.discard(row);
  }
}

// Each share has an owner, and none of them has anything to do.
bool Simulation::at_rest() {
  int lanes = 0;
  for (const Process* process : running()) {
    for (const Relay* relay : process->relays()) {
      if (!relay->started() || relay->stale() || !relay->at_rest()) return false;
      lanes += relay->lanes().size();
    }
  }
  return lanes == kLanes;
}

bool Simulation::done() {
  if (!database_.quiet() || !at_rest()) return false;
  const auto& rows = store_.rows();
  if (std::any_of(rows.begin(), rows.end(), [](const auto& row) { return row.state == DeliveryState::waiting; })) {
    return false;
  }
  const auto& messages = database_.messages();
  return std::all_of(messages.begin(), messages.end(),
                     [this](const Message& message) { return !message.committed || store_.passed(message); });
}

std::string Simulation::what_is_left() {
  int unread = 0;
  std::string first;
  for (const auto& message : database_.messages()) {
    if (!message.committed || store_.passed(message)) continue;
    if (unread++ == 0) first = message.id;
  }
  int waiting = 0;
  for (const auto& row : store_.rows()) {
    if (row.state == DeliveryState::waiting) ++waiting;
  }
  std::string text = fmt::format("{} unsettled{}, {} waiting", unread, first.empty() ? "" : " from " + first, waiting);
  for (const Process* process : running()) text += "; " + process->state();
  return text;
}

void Simulation::close_down() {
  closing_ = true;
  for (Process* process : running()) scenario_.ends_with_drain ? process->drain() : process->leave();
  loop_.after(kCloseMax, [this] { witness_.broken("told to end, and still {}", what_is_left()); });
}

Evidence Simulation::evidence(std::size_t sink) {
  Evidence evidence;
  for (const auto& message : database_.messages()) {
    const bool unrouted = sink == 0 && !witness_.routed_anywhere(message);
    if (message.rolled_back) ++evidence.rolled_back;
    if (!message.committed || (witness_.route(sink, message) == nullptr && !unrouted)) continue;
    evidence.committed.push_back({message.id, message.key, message.n});
    const auto& fate = witness_.fate(sink, message);
    const auto* row = store_.find(message.index, scenario_.sinks[sink].name);
    if (message.truncated && fate.arrivals == 0 && row == nullptr) {
      evidence.committed.pop_back();
      continue;
    }
    if (message.not_before || fate.was_dead || fate.touched) evidence.unordered.insert(message.id);
    if (fate.discarded || (row != nullptr && row->state == DeliveryState::dead)) evidence.dead.push_back(message.id);
  }
  for (const auto& arrival : witness_.arrivals(sink)) {
    evidence.arrived.push_back(database_.messages()[static_cast<std::size_t>(arrival.message)].id);
  }
  return evidence;
}

void Simulation::verify(RunResult& result) {
  for (std::size_t sink = 0; sink < scenario_.sinks.size(); ++sink) {
    const Findings findings = check(evidence(sink));
    result.verdict +=
        fmt::format("{}sink {}: committed {} · delivered {} · dead {} · duplicates {}{}{}", sink == 0 ? "" : "\n",
                    scenario_.sinks[sink].name, findings.committed, findings.delivered, findings.dead,
                    findings.duplicates, findings.faults.empty() ? "" : " · ", fmt::join(findings.faults, " · "));
    result.committed += findings.committed;
    result.delivered += findings.delivered;
    result.duplicates += findings.duplicates;
    result.dead += findings.dead;
    if (!findings.clean()) witness_.broken("{}", fmt::join(findings.faults, " · "));
  }
  witness_.check_duplicates(result.duplicates);
  const auto& f = scenario_.faults;
  const auto& e = scenario_.events;
  // What one of two sinks that share the marks has confirmed is marked when the other one has it too: who leaves before
  // that, leaves it to be sent again.
  const bool shared_marks = scenario_.mode == Mode::mark && scenario_.sinks.size() > 1;
  const int disturbances = e.crashes + e.stops + e.store_outages + (shared_marks ? e.leaves : 0);
  // What the store refused is sent again by whoever reads it next.
  result.calm = scenario_.refused + f.call_fails + f.call_in_doubt + f.call_hangs + f.renewal_fails +
                        f.renewal_in_doubt + f.renewal_late ==
                    0 &&
                disturbances == 0 && witness_.doubts() == 0;
  if (result.calm && result.duplicates > 0) {
    witness_.broken("duplicates although nothing went wrong: {}", result.verdict);
  }
}

RunResult run_seed(std::uint64_t seed, Trace::Mode trace) { return Simulation(draw_scenario(seed), trace).run(); }

}  // namespace outbox::sim
