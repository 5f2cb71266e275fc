// RelayMetrics: turns what the runners tell into metrics, and remembers when each sink last failed.
//
// Events come as they happen (RelayObserver, any thread, cheap); states are refreshed from outside every few seconds:
// a scrape reads what was last refreshed and never touches a runner or the database.
#pragma once

#include <chrono>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "admin/metric_table.h"
#include "base/metrics.h"
#include "relay/runner.h"
#include "store/store.h"

namespace outbox {

class RelayMetrics : public RelayObserver {
 public:
  // `metrics` outlives this. All series of the given sinks are there from the start.
  RelayMetrics(Metrics& metrics, std::span<const std::string> sinks);

  void confirmed(const std::string& sink, Duration since_created, Duration since_published) override;
  void attempted(const std::string& sink, Verdict verdict) override;
  void duplicate(const std::string& sink) override;
  void dead(const std::string& sink, const std::string& reason) override;
  void polled(Duration took) override;
  void breaker_changed(const std::string& sink, BreakerState to) override;
  void forwarded(const std::string& sink, bool refused) override;
  void unforwarded(std::int64_t count) override;

  // When a delivery to the sink last failed; the epoch: none did yet.
  std::chrono::steady_clock::time_point last_failure(const std::string& sink) const;

  // The lanes that this relay has now, and how many shares it lost so far.
  void refresh_leases(int lanes_owned, std::uint64_t lost);
  // From the runners' views, one per feed.
  void refresh(std::span<const FeedView> feeds);
  // From Store::status, asked for each feed by itself.
  struct FeedStatus {
    Feed feed;
    StoreStatus status;
  };
  void refresh(std::span<const FeedStatus> feeds);

 private:
  struct SinkSeries {
    std::map<Verdict, Counter> attempts;
    Counter duplicates;
    std::map<BreakerState, Gauge> breaker;
    std::map<BreakerState, Counter> transitions;
    Histogram delivery;
    Histogram publish;
    Gauge in_flight;
    Gauge waiting;
    Gauge dead;
    Gauge last_delivery;
    Gauge oldest_due;
    Gauge paused;
    Gauge waiting_for_destination;
    Gauge at_cap;
    Gauge held_destinations;
    std::map<std::string, Gauge> dead_of_owner;
  };
  SinkSeries make_series(const std::string& sink);
  SinkSeries& series(const std::string& sink);
  static void show(SinkSeries& of_sink, const SinkView* view);
  void refresh_owners(const std::string& sink, const std::map<std::string, std::int64_t>& dead_by_owner);

  Metrics& metrics_;
  std::map<std::string, SinkSeries> sinks_;  // not changed after construction
  Histogram poll_;
  Counter lease_lost_;
  std::uint64_t leases_lost_ = 0;
  mutable std::mutex mutex_;
  std::map<std::string, std::chrono::steady_clock::time_point> failed_at_;  // guarded by mutex_
};

std::string_view to_string(Verdict verdict);

}  // namespace outbox
