// RelayService: the relay role of the daemon, built from settings: a runner per feed, and the housekeeping.
//
// Thread: one owner; view() from any.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "admin/sink_report.h"
#include "app/database.h"
#include "config/settings.h"
#include "relay/housekeeping.h"
#include "relay/runner.h"

namespace outbox::app {

class RelayService {
 public:
  // Makes the sinks (fails on bad options) and starts everything. `observer` outlives the service; `last_failure` and
  // `on_status` are called from the housekeeping's thread.
  static Result<std::unique_ptr<RelayService>> start(const config::Settings& settings, const Database& database,
                                                     const std::string& relay, RelayObserver& observer,
                                                     SinkReporter::LastFailure last_failure,
                                                     std::function<void(const std::vector<StoreStatus>&)> on_status);
  ~RelayService();
  RelayService(const RelayService&) = delete;
  RelayService& operator=(const RelayService&) = delete;

  void stop();
  void drain();
  // The end of the whole: `running` until `deadline`, or until every feed has ended; fenced or failed as soon as one
  // is.
  RunnerEnd wait_until(std::chrono::steady_clock::time_point deadline);
  Failure failure() const;

  std::vector<FeedView> view() const;

 private:
  RelayService() = default;

  std::vector<std::unique_ptr<Runner>> runners_;
  std::unique_ptr<Housekeeping> housekeeping_;  // after the runners: it reads their views
};

// HOST:PID.
std::string relay_name();

}  // namespace outbox::app
