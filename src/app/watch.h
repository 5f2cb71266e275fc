// Watch: what the daemon lets others see of it: metrics, /healthz and /readyz. It hears the relay as its observer and
// reads its views; the relay does not know it.
//
// Thread: any; the server and the relay call it from theirs.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "admin/relay_metrics.h"
#include "admin/server.h"
#include "app/database.h"
#include "config/settings.h"

namespace outbox::app {

class RelayService;

class Watch {
 public:
  explicit Watch(const config::Settings& settings);

  // Starts the admin server where the settings name an address. Until a relay is attached it answers "not ready".
  Result<void> listen();
  void attach(RelayService& service);
  void detach();

  RelayObserver& observer() { return relay_metrics_; }
  // When a delivery last failed, at that sink or at any; the epoch: none did yet.
  std::chrono::steady_clock::time_point last_failure(const std::string& sink) const;
  std::chrono::steady_clock::time_point last_failure() const;
  // What the housekeeping calls with the table-wide figures; a scrape never touches the database.
  std::function<void(const std::vector<StoreStatus>&)> figures(const Database& database,
                                                               const config::Settings& settings);

 private:
  std::vector<FeedView> views();
  void refresh_leases();

  const std::string address_;
  const std::vector<std::string> sinks_;
  Metrics metrics_;
  RelayMetrics relay_metrics_;
  std::mutex mutex_;
  RelayService* service_ = nullptr;  // guarded by mutex_
  std::unique_ptr<AdminServer> server_;
};

}  // namespace outbox::app
