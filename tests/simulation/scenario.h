// Scenario: what one run looks like, drawn from its seed: the shape of the feed, the sizes (small ones, so that every
// limit is met), and how often what goes wrong.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "relay/core.h"
#include "relay/policy.h"

namespace outbox::sim {

enum class Mode {
  snapshot,  // PostgreSQL, our table: one sink, a position of two snapshots
  cursor,    // SQLite: one sink, an id cursor
  mark,      // an adopted table: rows are marked, one or two sinks share the feed
};

enum class SinkKind {
  one_per_key,        // HTTP: one message of a key at a time
  pipelined,          // many per key; a failure gives back the key's later ones
  pipelined_fragile,  // Kafka: a failure among several kills the client, and only one alone is judged by itself
};

struct SinkPlan {
  std::string name;
  SinkKind kind = SinkKind::one_per_key;
  std::size_t window_messages = 8;
  std::size_t payload_max = 0;
};

// Probabilities per call or message, 0 in a calm run.
struct Faults {
  double call_fails = 0;         // of a store or source call, before it took effect
  double call_in_doubt = 0;      // ... after it took effect
  double call_hangs = 0;         // takes seconds
  double message_fails = 0;      // a message's try: 5xx or busy, once or twice per message
  double confirmation_lost = 0;  // arrived, reported as unknown
  double client_dies = 0;        // per publication
  double renewal_fails = 0;      // of a lease, before it took effect
  double renewal_in_doubt = 0;   // ... after it took effect
  double renewal_late = 0;       // takes up to two seconds
};

// How many of each happen during the chaos phase.
struct Events {
  int crashes = 0;
  int joins = 0;
  int leaves = 0;
  int stops = 0;  // SIGSTOP, often beyond the lease
  int sink_pauses = 0;
  int sink_outages = 0;
  int destination_outages = 0;
  int store_outages = 0;
  int operator_actions = 0;  // on one parked delivery
  int clock_steps = 0;       // the database's clock is set an hour back or forward
  int redrives = 0;          // all dead letters of a sink at once
  int truncations = 0;       // of the outbox table, its numbering set back; a crash follows
  int retentions = 0;
};

struct Scenario {
  std::uint64_t seed = 0;
  Mode mode = Mode::snapshot;
  std::vector<SinkPlan> sinks;
  std::vector<Route> routes;
  CoreOptions options;
  bool shares_seq = true;  // mark mode: the table has a column that records' seq is read from

  std::vector<std::string> types;  // aggregate types; key i has type i mod size
  int keys = 4;
  int transactions = 40;
  int messages_max = 4;     // per transaction
  double rolls_back = 0.1;  // per transaction
  double takes_xid_early = 0.3;
  double stays_open = 0.2;   // commits after seconds
  double poison = 0.02;      // per message: rejected by the far end whenever it is tried
  double always_500 = 0.01;  // per message
  double not_due = 0.03;     // per message: not_before in the future
  double too_large = 0.01;   // per message
  double refused = 0;        // per message: the store refuses whatever names it, until the world heals

  Duration chaos{10s};
  Duration lease{2s};
  int processes = 1;         // at the start
  Duration delay_max{20ms};  // of a call, a confirmation
  Faults faults;
  Events events;
  bool ends_with_drain = false;
  // Of two sinks of a feed, the first is down or paused from the start until the world heals; nothing else goes wrong.
  enum class OneDown { none, down, paused };
  OneDown one_down = OneDown::none;

  std::string summary() const;
};

Scenario draw_scenario(std::uint64_t seed);

}  // namespace outbox::sim
