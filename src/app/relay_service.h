// RelayService: a relay, in the daemon or embedded: keeps its lease, runs a runner for each share of a feed that it
// owns, and takes and gives shares as relays come and go (relay/sharing.h). Beside that the housekeeping.
//
// Thread: one owner; view() from any.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "admin/sink_report.h"
#include "app/forwarding_role.h"
#include "app/runner_factory.h"
#include "relay/housekeeping.h"
#include "relay/sharing.h"

namespace outbox::app {

class RelayService {
 public:
  // Makes the sinks (fails on bad options) and starts everything. `last_failure` and `on_status` are called from the
  // housekeeping's thread. `once`: delivers what there is, then ends; fails `fenced` where another relay owns any of
  // it.
  static Result<std::unique_ptr<RelayService>> start(const RelayParts& parts, const std::string& relay, bool once,
                                                     SinkReporter::LastFailure last_failure,
                                                     std::function<void(const std::vector<StoreStatus>&)> on_status);
  ~RelayService();
  RelayService(const RelayService&) = delete;
  RelayService& operator=(const RelayService&) = delete;

  // Reads the table at once: there may be something new.
  void poke();
  // Lets what is in flight be confirmed, gives its shares up, ends.
  void stop();
  // `running` until it has ended, at most until `deadline`.
  RunnerEnd wait_until(std::chrono::steady_clock::time_point deadline);
  Failure failure() const;

  // One per feed, the relay's shares of it taken together; the last one may be of the sink of dead letters.
  std::vector<FeedView> view() const;
  int lanes_owned() const;
  std::uint64_t leases_lost() const;

 private:
  struct Running {
    Share share;
    std::unique_ptr<Runner> runner;
    std::optional<int> give_from;  // it stops, and is given away from this lane on
  };

  // What is left of a share from this lane on, to whoever takes it.
  struct Gift {
    Share share;
    int from = 0;
  };

  RelayService(const RelayParts& parts, const std::string& relay, bool once);
  Result<void> check_sinks();
  void run(const std::stop_token& stop);
  void renew();
  void renewal_failed(const Failure& failure);
  bool bury_the_dead(const Roster& roster);
  void follow(const Roster& roster);
  void follow_once(const Roster& roster);
  Running* find_running(const Share& share);  // null: this relay does not run it
  void start_runner(const Share& share);
  void pause_as(const std::vector<SinkPause>& pauses);
  std::vector<Gift> reap();
  void give(const Gift& gift);
  bool reap_one(Running& running);
  void ring();
  void end_with(RunnerEnd end, Failure failure = {});
  FeedView view_of(const Feed& feed) const;
  void hold_if_paused(SinkView& sink) const;

  const std::string relay_;
  const std::string process_;
  const Duration lease_lasts_;
  const bool once_;
  RunnerFactory factory_;
  std::unique_ptr<Leases> leases_;
  std::map<std::string, bool> divisible_;  // by feed
  std::shared_ptr<Lease> lease_ = std::make_shared<Lease>();

  // What the service's thread sleeps on. Its mutex is a leaf, and it outlives the runners: they ring while the service
  // joins them.
  std::mutex bell_mutex_;
  std::condition_variable_any bell_;
  bool rung_ = false;

  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable ended_;
  std::vector<Running> running_;
  std::string database_error_;                  // why the lease could not be renewed
  std::map<std::string, std::string> owners_;   // by feed: another relay that has a share of it
  std::map<std::string, SinkPause> pauses_;     // by sink
  bool pauses_known_ = false;                   // no share is taken before
  std::unique_ptr<ForwardingRole> forwarding_;  // null: not configured, or it has ended
  bool once_started_ = false;
  bool stopping_ = false;
  std::uint64_t leases_lost_ = 0;
  RunnerEnd end_ = RunnerEnd::running;
  Failure failure_;

  std::unique_ptr<Housekeeping> housekeeping_;  // after the runners: it reads their views
  std::jthread thread_;
};

}  // namespace outbox::app
