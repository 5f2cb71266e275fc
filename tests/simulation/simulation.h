// Simulation: one run from one seed. Chaos first; then the world heals, nothing crashes any more, and the relays have
// to bring everything to its end and stand still; then the verdict.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "app/checker.h"
#include "database.h"
#include "process.h"
#include "scenario.h"
#include "sim_sink.h"
#include "sim_store.h"
#include "trace.h"
#include "witness.h"

namespace outbox::sim {

struct RunResult {
  std::uint64_t seed = 0;
  std::string failure;  // "" if every promise was kept
  std::string verdict;  // the checker's, a line per sink
  std::uint64_t steps = 0;
  std::uint64_t digest = 0;  // of the trace, if that was asked for
  std::int64_t committed = 0;
  std::int64_t delivered = 0;
  std::int64_t duplicates = 0;
  std::int64_t dead = 0;
  int crashes = 0;    // with something in flight
  bool calm = false;  // nothing was made to go wrong
};

class Simulation {
 public:
  Simulation(Scenario scenario, Trace::Mode trace);

  RunResult run();

 private:
  void plan_chaos();
  void crash();
  void join();
  void leave();
  void pause_sink();
  void sink_outage();
  void destination_outage();
  void store_outage();
  void operate();
  void set_clock();
  void redrive();
  void redrive_on(SimStore::Walk walk, std::size_t max_rows);
  void truncate();
  void prune();

  void supervise();
  void start_process();
  std::vector<Process*> running();
  bool at_rest();

  void heal();
  void tend();
  void release_held_keys();
  bool done();
  std::string what_is_left();
  void close_down();
  Evidence evidence(std::size_t sink);
  void verify(RunResult& result);

  const Scenario scenario_;
  Faults faults_;
  bool store_down_ = false;
  bool healed_ = false;
  bool closing_ = false;
  int crashes_ = 0;
  Duration clock_forward_max_{0};
  Loop loop_;
  Trace trace_;
  Dice dice_;
  Database database_;
  Witness witness_;
  SimLeases leases_;
  SimStore store_;
  std::vector<std::unique_ptr<FarEnd>> far_ends_;
  std::vector<std::unique_ptr<Process>> processes_;
};

// Draws the scenario and runs it.
RunResult run_seed(std::uint64_t seed, Trace::Mode trace = Trace::Mode::off);

}  // namespace outbox::sim
