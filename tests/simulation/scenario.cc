#include "scenario.h"

#include <fmt/format.h>

#include <algorithm>

#include "dice.h"

namespace outbox::sim {

namespace {

constexpr int kNoCap = 1000;
constexpr Duration kClockChaos{20s};

bool capped(const Scenario& s) {
  return std::any_of(s.options.sinks.begin(), s.options.sinks.end(),
                     [](const CoreSink& sink) { return sink.parked_max < kNoCap; });
}

void draw_sinks(Scenario& s, Dice& dice) {
  const int count = s.mode == Mode::mark && dice.chance(0.7) ? 2 : 1;
  for (int i = 0; i < count; ++i) {
    SinkPlan plan;
    plan.name = std::string(1, static_cast<char>('A' + i));
    plan.kind = static_cast<SinkKind>(dice.between(0, 2));
    plan.window_messages = static_cast<std::size_t>(dice.between(1, 12));
    plan.payload_max = dice.chance(0.5) ? 200 : 0;
    s.sinks.push_back(plan);

    CoreSink sink;
    sink.name = plan.name;
    sink.capabilities.pipelines_key = plan.kind != SinkKind::one_per_key;
    sink.capabilities.window_messages = plan.window_messages;
    sink.capabilities.payload_max = plan.payload_max;
    sink.retry = {dice.between(Duration(20ms), Duration(200ms)), Duration(1s), dice.between(2, 6)};
    sink.breaker = {dice.between(1, 5), dice.between(Duration(50ms), Duration(500ms)), Duration(2s)};
    sink.parked_max = static_cast<std::size_t>(dice.chance(0.25) ? dice.between(2, 10) : kNoCap);
    s.options.sinks.push_back(sink);
    s.options.feed.sinks.push_back(plan.name);
  }
}

// Types: "t0".. are routed, each to a destination of its own or all to one; "quiet" is routed to none; "lost" nowhere.
void draw_routes(Scenario& s, Dice& dice) {
  const int types = dice.between(1, 3);
  for (int i = 0; i < types; ++i) s.types.push_back("t" + std::to_string(i));
  for (const auto& sink : s.sinks) {
    Route route;
    route.sink = sink.name;
    route.address = dice.chance(0.7) ? "to.{aggregate_type}" : "to.all";
    route.owner = "team";
    route.dead_letter_holds_key = dice.chance(0.4);
    for (int i = 0; i < types; ++i) {
      if (i > 0 && dice.chance(0.15)) continue;
      Route each = route;
      each.aggregate_type = s.types[static_cast<std::size_t>(i)];
      if (dice.chance(0.3)) each.dead_letter_holds_key = !each.dead_letter_holds_key;
      if (dice.chance(0.2)) each.retry = RetryPolicy{Duration(50ms), Duration(500ms), dice.between(1, 4)};
      s.routes.push_back(each);
    }
  }
  if (dice.chance(0.2)) {
    s.types.push_back("quiet");
    Route none;
    none.sink = "none";
    none.aggregate_type = "quiet";
    s.routes.push_back(none);
  }
  if (dice.chance(0.2)) s.types.push_back("lost");
}

void draw_sizes(Scenario& s, Dice& dice) {
  s.keys = static_cast<int>(s.types.size()) * dice.between(1, 4);
  s.transactions = dice.between(5, 45);
  s.messages_max = dice.between(1, 5);
  s.rolls_back = dice.between(0, 30) / 100.0;
  s.stays_open = dice.between(0, 40) / 100.0;
  s.takes_xid_early = dice.between(0, 80) / 100.0;
  s.poison = dice.chance(0.5) ? dice.between(1, 8) / 100.0 : 0;
  s.always_500 = dice.chance(0.4) ? dice.between(1, 5) / 100.0 : 0;
  s.not_due = dice.chance(0.4) ? dice.between(1, 10) / 100.0 : 0;
  s.too_large = dice.chance(0.3) ? 0.03 : 0;
  s.chaos = dice.between(Duration(2s), Duration(8s));
  s.delay_max = dice.between(Duration(1ms), Duration(40ms));

  auto& o = s.options;
  o.page_records = static_cast<std::size_t>(dice.between(1, 12));
  o.window_records = static_cast<std::size_t>(dice.between(2, 40));
  o.window_bytes = dice.chance(0.3) ? static_cast<std::size_t>(dice.between(1500, 10000)) : 16u << 20;
  o.page_bytes = dice.chance(0.3) ? static_cast<std::size_t>(dice.between(1000, 4000)) : 4u << 20;
  o.ahead_max = static_cast<std::size_t>(dice.between(1, 30));
  if (capped(s)) {
    // Many keys and a small window reach the cap.
    s.keys = static_cast<int>(s.types.size()) * dice.between(6, 12);
    o.window_records = static_cast<std::size_t>(dice.between(2, 8));
    o.page_records = static_cast<std::size_t>(dice.between(1, 4));
  }
  o.poll_idle = dice.between(Duration(50ms), Duration(200ms));
}

int few(Dice& dice, double chance, int most) { return dice.chance(chance) ? dice.between(1, most) : 0; }

void draw_relays(Scenario& s, Dice& dice) {
  s.lease = dice.between(Duration(400ms), Duration(2s));
  if (capped(s) && dice.chance(0.7)) return;  // what is parked is counted by share
  s.processes = dice.chance(0.4) ? dice.between(2, 3) : 1;
  s.events.joins = few(dice, 0.4, 3);
  s.events.leaves = few(dice, 0.3, 3);
  s.events.sink_pauses = few(dice, 0.2, 2);
}

void draw_faults(Scenario& s, Dice& dice) {
  if (dice.chance(0.12)) return;  // a calm run: not one duplicate is allowed
  const double scale = dice.between(0, 10) / 10.0;
  auto& f = s.faults;
  f.call_fails = dice.chance(0.5) ? 0.10 * scale : 0;
  f.call_in_doubt = dice.chance(0.5) ? 0.10 * scale : 0;
  f.call_hangs = dice.chance(0.3) ? 0.02 * scale : 0;
  f.message_fails = dice.chance(0.6) ? 0.15 * scale : 0;
  f.confirmation_lost = dice.chance(0.4) ? 0.08 * scale : 0;
  f.client_dies = dice.chance(0.4) ? 0.03 * scale : 0;
  f.renewal_fails = dice.chance(0.3) ? 0.2 * scale : 0;
  f.renewal_in_doubt = dice.chance(0.3) ? 0.2 * scale : 0;
  f.renewal_late = dice.chance(0.3) ? 0.2 * scale : 0;
  auto& e = s.events;
  e.crashes = few(dice, 0.6, 4);
  e.stops = few(dice, 0.6, 4);
  e.sink_outages = few(dice, 0.3, 2);
  e.destination_outages = few(dice, 0.4, 3);
  if (capped(s)) e.destination_outages = dice.between(1, 4);
  e.store_outages = few(dice, 0.3, 2);
  e.operator_actions = few(dice, 0.5, 6);
}

// Many keys and a small window reach the cap; two sinks of a feed spill to it.
void draw_spills(Scenario& s, Dice dice) {
  if (s.mode != Mode::mark || s.sinks.size() < 2) return;
  if (capped(s) && s.events.crashes + s.events.stops > 0) {
    s.events.sink_outages += dice.between(1, 2);
    s.events.sink_pauses += dice.between(0, 2);
  }
  if (capped(s) || !dice.chance(0.1)) return;
  s.one_down = dice.chance(0.5) ? Scenario::OneDown::down : Scenario::OneDown::paused;
  s.faults = {};
  s.events = {};
  s.processes = 1;
  s.poison = s.always_500 = s.not_due = 0;
  s.chaos = Duration(8s);
  s.options.window_records = std::min<std::size_t>(s.options.window_records, 12);
}

// Owners that are stopped beyond their lease in the middle of their work, while others are there.
void draw_sleepers(Scenario& s, Dice dice) {
  if (s.events.stops == 0 || s.mode == Mode::cursor || capped(s) || !dice.chance(0.5)) return;
  s.processes = dice.between(2, 3);
  s.events.stops = dice.between(4, 12);
  s.lease = dice.between(Duration(400ms), Duration(800ms));
  s.delay_max = dice.between(Duration(20ms), Duration(60ms));
}

// A storm of failures against a small budget; ages that some of them reach.
void draw_retries(Scenario& s, Dice dice) {
  const bool storm = s.faults.message_fails > 0 && dice.chance(0.25);
  if (storm) s.faults.message_fails = dice.between(30, 60) / 100.0;
  const bool ages = dice.chance(0.3);
  const auto age = [&] { return dice.between(Duration(100ms), Duration(1500ms)); };
  for (CoreSink& sink : s.options.sinks) {
    sink.budget = storm ? RetryBudgetPolicy{dice.between(0, 10), dice.between(2, 6)} : RetryBudgetPolicy{10, 1000};
    if (ages) sink.retry.age = age();
  }
  for (Route& route : s.routes) {
    if (ages && route.retry && dice.chance(0.5)) route.retry->age = age();
  }
}

// Whoever mended something sends again what died of it, while the traffic goes on.
void draw_redrives(Scenario& s, Dice dice) {
  if (s.one_down != Scenario::OneDown::none) return;
  s.events.redrives = few(dice, 0.3, 3);
  if (s.mode != Mode::mark || capped(s) || !dice.chance(0.3)) return;
  // What dies again and again, while it stays open for a time whether that is written.
  s.events.redrives = dice.between(6, 12);
  s.faults.call_in_doubt = 0.3;
  s.poison = 0.3;
}

// Somebody empties the outbox table and has its numbering begin anew, while something is settled ahead.
void draw_truncations(Scenario& s, Dice dice) {
  if (s.mode != Mode::snapshot || s.one_down != Scenario::OneDown::none || !dice.chance(0.3)) return;
  s.events.truncations = dice.between(1, 4);
  s.transactions = std::max(s.transactions, 25);
}

// A value that the database does not take, a trigger of the user's that raises.
void draw_refusals(Scenario& s, Dice dice) {
  if (capped(s) || s.one_down != Scenario::OneDown::none || !dice.chance(0.12)) return;
  s.refused = dice.between(2, 15) / 100.0;
  s.poison = std::max(s.poison, 0.05);
  s.faults.message_fails = std::max(s.faults.message_fails, 0.1);
}

// The database's clock is set, and nothing else goes wrong but messages that fail and are tried again. The marks in
// time that a run could judge by that clock are left out.
void draw_clock(Scenario& s, Dice dice) {
  if (capped(s) || s.one_down != Scenario::OneDown::none || !dice.chance(0.04)) return;
  s.faults = {};
  s.faults.message_fails = 0.2;
  s.events = {};
  s.events.clock_steps = dice.between(1, 3);
  s.processes = 1;
  s.always_500 = s.not_due = s.refused = 0;
  for (CoreSink& sink : s.options.sinks) sink.retry.age.reset();
  for (Route& route : s.routes) {
    if (route.retry) route.retry->age.reset();
  }
  s.chaos = kClockChaos;
}

}  // namespace

Scenario draw_scenario(std::uint64_t seed) {
  Dice dice(seed * 0x9E3779B97F4A7C15u + 1);
  Scenario s;
  s.seed = seed;
  s.mode = std::vector{Mode::snapshot, Mode::snapshot, Mode::cursor, Mode::mark, Mode::mark}[dice.next() % 5];
  s.shares_seq = dice.chance(0.5);
  draw_sinks(s, dice);
  draw_routes(s, dice);
  draw_sizes(s, dice);
  draw_relays(s, dice);
  draw_faults(s, dice);
  draw_spills(s, Dice(seed * 0xE7037ED1A0B428DBu + 1));
  draw_sleepers(s, Dice(seed * 0xA0761D6478BD642Fu + 1));
  draw_retries(s, Dice(seed * 0xD1B54A32D192ED03u + 1));
  draw_redrives(s, Dice(seed * 0x94D049BB133111EBu + 1));
  draw_truncations(s, Dice(seed * 0xC2B2AE3D27D4EB4Fu + 1));
  draw_refusals(s, Dice(seed * 0x165667B19E3779F9u + 1));
  draw_clock(s, Dice(seed * 0xBF58476D1CE4E5B9u + 1));
  s.events.retentions = few(dice, 0.5, 4);
  s.ends_with_drain = dice.chance(0.5);
  s.options.feed.positions = s.mode != Mode::mark;
  s.options.feed.name = s.mode == Mode::mark ? "*" : s.sinks[0].name;
  s.options.source_repeats = s.mode == Mode::mark;
  return s;
}

std::string Scenario::summary() const {
  constexpr const char* kModes[] = {"snapshot", "cursor", "mark"};
  constexpr const char* kKinds[] = {"one per key", "pipelined", "pipelined, fragile"};
  std::string text = fmt::format("seed {} · {} mode · {} transactions over {} keys · page {} window {} ahead {}", seed,
                                 kModes[static_cast<int>(mode)], transactions, keys, options.page_records,
                                 options.window_records, options.ahead_max);
  for (std::size_t i = 0; i < sinks.size(); ++i) {
    const auto& sink = options.sinks[i];
    text += fmt::format("\n  sink {}: {}, {} unconfirmed at most, {} attempts, breaker after {}, parked at most {}",
                        sinks[i].name, kKinds[static_cast<int>(sinks[i].kind)], sinks[i].window_messages,
                        sink.retry.attempts, sink.breaker.failures, sink.parked_max);
  }
  for (const auto& route : routes) {
    text += fmt::format("\n  route {} → {} {}{}{}", route.aggregate_type.value_or("*"), route.sink, route.address,
                        route.dead_letter_holds_key ? ", dead letters hold their key" : "",
                        route.retry ? fmt::format(", {} attempts", route.retry->attempts) : "");
  }
  return text + fmt::format(
                    "\n  {} relays, lease {} ms · {} crashes, {} joins, {} leaves, {} stops, {} pauses of a sink, "
                    "{}+{} outages "
                    "of sink and destinations, {} of the store, {} operator actions, {} redrives, {} truncations, {} "
                    "steps of its clock",
                    processes, lease.count() / 1000, events.crashes, events.joins, events.leaves, events.stops,
                    events.sink_pauses, events.sink_outages, events.destination_outages, events.store_outages,
                    events.operator_actions, events.redrives, events.truncations, events.clock_steps);
}

}  // namespace outbox::sim
