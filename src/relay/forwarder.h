// Forwarder: sends copies of dead letters to a sink of their own, on a thread, a database connection and a client of
// its own. What is sent next is ForwardingCore's decision.
//
// At least once: a copy is remembered after the sink has confirmed it, so what was in flight at a crash comes twice. It
// works under the relay's lease, as a runner does: it hands nothing to the sink once the lease has run out, takes back
// what the client holds then, and takes the forwarding over anew.
//
// Thread: any; the destructor stops and waits.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "relay/forwarding_core.h"
#include "relay/lease.h"
#include "relay/notice.h"
#include "relay/runner.h"
#include "sink/sink.h"
#include "store/forwarding_store.h"

namespace outbox {

struct ForwarderOptions {
  std::string relay;
  std::string sink;  // its name
  Route route;
  RetryPolicy retry;
  Duration drain_timeout{10s};  // stop(): how long what is in flight may take
  Duration look_every{1s};      // for new dead letters
  std::uint64_t seed = 1;
  std::shared_ptr<const Lease> lease{};  // none: nobody else can be there
};

class Forwarder : private CompletionListener {
 public:
  // Called from its thread.
  struct Hooks {
    std::function<void(const Forwarded&)> on_forwarded;
    std::function<void(std::int64_t)> on_left;                   // how many wait, from time to time; 0 when it ends
    std::function<void(Verdict)> on_attempted = [](Verdict) {};  // what came of a copy that was handed to the sink
    std::function<void(BreakerState)> on_breaker = [](BreakerState) {};
  };
  Forwarder(std::unique_ptr<ForwardingStore> store, std::unique_ptr<Sink> sink, ForwarderOptions options, Hooks hooks);
  ~Forwarder() override;
  Forwarder(const Forwarder&) = delete;
  Forwarder& operator=(const Forwarder&) = delete;

  // Fails if the sink cannot be opened; nothing runs then.
  Result<void> start();
  // Sends nothing more, waits up to drain_timeout for what is in flight, ends.
  void stop();
  // Sends nothing until it is resumed.
  void pause(bool paused);
  // running; stopped; fenced: another relay forwards; failed, for what no waiting mends.
  RunnerEnd end() const;
  Failure failure() const;  // once it ended `fenced` or `failed`
  // The copies' part of what the sink does. The breaker is open while nothing arrives, probes included; last_delivery
  // is by this machine's clock.
  SinkView view() const;

 private:
  using Clock = std::chrono::steady_clock;

  void completed(std::vector<Completion> completions) override;
  void run(const std::stop_token& stop);
  bool owned(const std::stop_token& stop);
  bool lease_holds() const;
  Duration round(const std::stop_token& stop);
  Result<void> send(std::vector<DeadLetter> page, const std::stop_token& stop);
  std::vector<Outcome> publish(const std::vector<ForwardingCore::Copy>& wave, const std::stop_token& stop);
  bool await_outcomes(const std::stop_token& stop);
  void report(const Forwarded& forwarded, const std::vector<ForwardingCore::Copy>& wave);
  void account(const std::vector<ForwardingCore::Copy>& wave, const std::vector<Outcome>& outcomes);
  void judge_sink(bool failing);
  void reopen();
  bool reopened(const std::stop_token& stop);
  Duration database_failed(const Failure& failure);
  void report_left();
  void sleep(Duration duration, const std::stop_token& stop);
  void end_with(RunnerEnd end, Failure failure = {});

  const std::unique_ptr<ForwardingStore> store_;
  const std::unique_ptr<Sink> sink_;
  const ForwarderOptions options_;
  const Hooks hooks_;

  // Owned by the thread.
  ForwardingCore core_;
  std::uint64_t epoch_ = 0;  // 0: to be taken over
  std::uint64_t term_ = 0;   // of the lease, as it was taken over
  int database_failures_ = 0;
  bool reopen_due_ = false;  // the last one failed: the client still holds what has not come back
  int reopen_failures_ = 0;
  Random random_;
  Notice notice_;
  Clock::time_point count_left_at_{};

  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable_any changed_;
  DeliveryId next_id_ = 1;  // the first of the wave that is out
  std::vector<std::optional<Outcome>> outcomes_;
  std::size_t outstanding_ = 0;
  bool paused_ = false;
  SinkView view_;
  RunnerEnd end_ = RunnerEnd::running;
  Failure failure_;

  std::jthread thread_;  // last: it is stopped and joined before the rest goes
};

}  // namespace outbox
