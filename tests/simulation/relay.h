// Relay: serves one share of the feed for one simulated process: a Core with its source, clients and threads' worth of
// outstanding calls. It does in virtual time what relay/runner does with threads: carries the core's commands out,
// reports what came of them, and watches the lease.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "relay/core.h"
#include "sim_sink.h"
#include "sim_source.h"
#include "sim_store.h"

namespace outbox::sim {

class Process;

class Relay {
 public:
  struct World {
    const Scenario& scenario;
    const Faults& faults;
    const bool& store_down;
    Loop& loop;
    Dice& dice;
    Witness& witness;
    Trace& trace;
    Database& database;
    SimStore& store;
    SimLeases& leases;
    std::vector<std::unique_ptr<FarEnd>>& far_ends;
  };
  Relay(World world, Process& process, Lanes lanes, int number);

  // Takes the share over, however often it has to try, and begins; ends if another relay owns it.
  void start();
  void crash();
  void stopped();
  void pause(std::size_t sink, bool paused);
  void look_at_lease();
  void kill_client(std::size_t sink) { clients_[sink]->die(); }
  void stop();
  void drain();

  bool started() const { return life_ > 0; }
  bool finished() const { return finished_; }
  // And its threads are done with what they had begun.
  bool joined() const { return finished_ && world_.loop.now() >= store_free_; }
  bool fenced() const { return fenced_; }
  const Lanes& lanes() const { return feed_.lanes; }
  // The share is not its own (any more).
  bool stale() const;
  std::size_t in_flight() const;
  // Names the core's memory: what an earlier one was told does not count.
  int life() const { return number_ * 1000 + life_; }
  // Every breaker is closed and nothing is in flight or queued.
  bool at_rest() const;
  std::string state() const;

 private:
  struct Listener final : CompletionListener {
    Listener(Relay& r, std::size_t s) : relay(r), sink(s) {}
    void completed(std::vector<Completion> completions) override { relay.completed(sink, std::move(completions)); }
    Relay& relay;
    std::size_t sink;
  };

  // Runs `event` when the process is awake, then carries out what the core asks for. Nothing if it has crashed.
  void event(std::function<void()> event);
  void watch_lease();
  Now now() const;
  void set_clock(Time database_now);
  // A call to the database: `effect` there, `answer(result)` here, and every way in which that goes wrong.
  using Answer = std::function<void(const Result<void>& result)>;
  void run_effect(std::function<void()> effect);
  void call(Time& thread_free, std::function<void()> effect, Answer answer);
  void take_over();
  void open_source(const FeedState& state, std::uint64_t asked);
  void taken_over(const FeedState& state);
  void end(bool fenced);
  void completed(std::size_t sink, std::vector<Completion> completions);

  void carry_out();
  void publish(const Commands::Publish& publish);
  void fetch(const Commands::Fetch& fetch);
  void settle(SettleBatch batch);
  void facts(const Commands::Facts& facts);
  void due(const Commands::Due& due);
  void reopen(std::size_t sink);
  void restart();
  void wake(SteadyTime at);
  void check_memory();

  World world_;
  Process& process_;
  const Feed feed_;
  int number_;
  std::string name_;
  bool finished_ = false;
  bool fenced_ = false;
  std::uint64_t epoch_ = 0;
  std::uint64_t term_ = 0;
  std::uint64_t take_overs_ = 0;
  Duration clock_offset_{};  // the database's clock, as of its last answer, to the process's own
  Duration lag_max_{};       // how far that was behind at most
  Time store_free_{};        // when the store's thread is done with what it does now
  Time source_free_{};
  SteadyTime wake_at_ = kNeverSteady;
  std::uint64_t wake_order_ = 0;
  int idle_ticks_ = 0;
  int life_ = 0;  // of the core's memory: a restart begins another
  Time began_at_{};
  bool fetching_ = false;
  bool settling_ = false;
  bool restarting_ = false;  // what is outstanding is void
  bool asking_facts_ = false;
  bool asking_due_ = false;
  std::string in_doubt_;  // the batch that has to be repeated unchanged

  std::unique_ptr<Core> core_;
  SimSource source_;
  std::vector<std::unique_ptr<Listener>> listeners_;
  std::vector<std::unique_ptr<SimSink>> clients_;
};

}  // namespace outbox::sim
