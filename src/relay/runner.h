// Runner: carries out the commands of one Core with real parts. It owns the threads of one feed: the core's, the
// source's and the store's; the sinks bring their own. All policy is the core's.
//
// Life: construct, start(), then stop() or drain(), then wait_until(). Stopping before starting, and stopping twice,
// are fine. Thread: any; the destructor stops and waits.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "relay/core.h"
#include "relay/event_queue.h"
#include "relay/lease.h"
#include "relay/worker.h"

namespace outbox {

// Hears what happens, for metrics. Called from the runner's threads; returns at once.
class RelayObserver {
 public:
  virtual ~RelayObserver() = default;
  virtual void confirmed(const std::string& sink, Duration since_created, Duration since_published) = 0;
  virtual void attempted(const std::string& sink, Verdict verdict) = 0;
  virtual void duplicate(const std::string& /*sink*/) {}  // delivered: the far side had it already, and said so
  virtual void dead(const std::string& sink, const std::string& reason) = 0;
  virtual void polled(Duration took) = 0;
  virtual void breaker_changed(const std::string& sink, BreakerState to) = 0;
  // Of copies of dead letters (relay/forwarder.h), by its thread: one was sent; so many wait.
  virtual void forwarded(const std::string& /*sink*/, bool /*refused*/) {}
  virtual void unforwarded(std::int64_t /*count*/) {}
};

struct FeedParts {
  std::unique_ptr<Source> source;
  std::unique_ptr<Store> store;
  std::vector<std::unique_ptr<Sink>> sinks;  // as in CoreOptions::sinks
};

struct RunnerOptions {
  std::string relay;            // this process's name, for the take-over
  Duration drain_timeout{10s};  // stop(): how long what is in flight may take
  std::uint64_t seed = 1;
  std::shared_ptr<const Lease> lease{};  // none: nobody else can be there
  std::function<void()> on_end{};        // called once, by the runner's own thread: do not destroy the runner in it
};

// What a feed does now. `reading`: the database answers and its feed is taken over.
struct FeedView {
  std::vector<SinkView> sinks;
  bool reading = false;
  std::string database_error;
  std::string settle_error;  // what was confirmed cannot be written; empty once it could
  Time last_poll{};
  Time now{};                                     // the database's clock when this was made
  std::chrono::steady_clock::time_point made_at;  // stands still if the core's thread hangs
};

enum class RunnerEnd { running, stopped, drained, fenced, failed };

class Runner {
 public:
  Runner(const CoreOptions& core, std::shared_ptr<const Router> router, FeedParts parts, RunnerOptions options,
         RelayObserver& observer);
  ~Runner();
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;

  // Fails if a sink cannot be opened; nothing runs then. Later, a first take-over that fails for what no waiting mends
  // (refused, invalid) ends the runner `failed`.
  Result<void> start();
  // Publishes nothing more, waits up to drain_timeout for what is in flight, settles, ends.
  void stop();
  // Publishes nothing to the sink until it is resumed.
  void pause(const std::string& sink, bool paused);
  // Reads the table at once: there may be something new.
  void poke();
  // --once: delivers what there is, then ends.
  void drain();
  // Blocks until it has ended, at most until `deadline`.
  RunnerEnd wait_until(std::chrono::steady_clock::time_point deadline);
  RunnerEnd end() const;
  Failure failure() const;  // once it ended `failed`
  FeedView view() const;

 private:
  class Port;  // a sink's CompletionListener
  struct Fetched {
    Result<Page> page;
    Duration took;
  };
  struct Facts {
    Result<PageFacts> facts;
  };
  struct DueAnswer {
    Result<std::vector<ParkedRun>> runs;
    Result<Store::Parking> parking;
  };
  struct Settled {
    Result<void> result;
  };
  struct Completed {
    std::size_t sink;
    std::vector<Completion> completions;
  };
  struct Reopened {
    std::size_t sink;
    Result<void> result;
  };
  struct TakenOver {
    FeedState state;
    std::uint64_t asked;  // take_overs_ then: a later one makes this answer void
  };
  struct TakeOverFailed {
    Failure failure;
    std::uint64_t asked;
  };
  struct Pause {
    std::size_t sink;
    bool paused;
  };
  struct Poke {};
  struct Stop {};
  struct Drain {};
  using Event = std::variant<Fetched, Facts, DueAnswer, Settled, Completed, Reopened, TakenOver, TakeOverFailed, Pause,
                             Poke, Stop, Drain>;

  void run(const std::stop_token& stop);
  void handle(Event& event);
  void on(Fetched& event);
  void on(Facts& event);
  void on(DueAnswer& event);
  void on(Settled& event);
  void on(Completed& event);
  void on(Reopened& event);
  void on(TakenOver& event);
  void on(TakeOverFailed& event);
  void on(Pause& event);
  void on(Poke&);
  void on(Stop&);
  void on(Drain&);
  void carry_out(Commands commands);
  void watch_lease();
  void publish(Commands::Publish& publish);
  void take_over();
  void open_source(const FeedState& state, std::uint64_t asked);
  void settle(SettleBatch batch);
  void give_up_in_flight();
  void report_cap(std::size_t index, const SinkView& sink);
  void report_turn(const Commands::DestinationTurn& turn);
  void report_death(const Commands::Died& died);
  void publish_view(bool always);
  void end_with(RunnerEnd end, Failure failure = {});
  void announce_end();
  Now now() const;
  void set_clock(Time database_now);

  const CoreOptions options_;
  const RunnerOptions runner_options_;
  RelayObserver& observer_;
  FeedParts parts_;
  std::vector<std::unique_ptr<Port>> ports_;

  // Owned by the core's thread.
  std::unique_ptr<Core> core_;
  Duration clock_offset_{};  // the database's clock, as of its last answer, to the steady one
  std::uint64_t epoch_ = 0;
  std::uint64_t term_ = 0;  // of the lease, as the feed was taken over
  std::uint64_t take_overs_ = 0;
  bool ever_started_ = false;
  bool reading_ = false;
  bool draining_ = false;
  RunnerEnd ending_ = RunnerEnd::running;  // how it finishes; end_ once nothing of it runs any more
  Failure ending_failure_;
  std::string database_error_;
  std::string settle_error_;
  int take_over_failures_ = 0;
  SteadyTime retry_take_over_at_ = kNeverSteady;
  Time last_poll_{};
  std::optional<std::chrono::steady_clock::time_point> stop_deadline_;
  bool gave_up_ = false;
  std::chrono::steady_clock::time_point view_made_at_{};
  std::vector<BreakerState> breakers_;
  std::vector<bool> capped_;
  Random random_;

  mutable std::mutex mutex_;  // guards view_, end_, failure_
  std::condition_variable ended_;
  FeedView view_;
  RunnerEnd end_ = RunnerEnd::running;
  Failure failure_;

  EventQueue<Event> events_;
  std::unique_ptr<Worker> source_worker_;
  std::unique_ptr<Worker> store_worker_;
  std::jthread thread_;
};

}  // namespace outbox
