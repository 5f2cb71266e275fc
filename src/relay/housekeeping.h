// Housekeeping: what a relay does beside delivering, on a thread and a database connection of its own: its heartbeat,
// the table-wide figures for metrics and health, and retention in bounded steps.
//
// A failure is logged and tried again; it never touches delivery.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "store/store.h"

namespace outbox {

struct HousekeepingOptions {
  std::string relay;
  std::vector<Feed> feeds;
  Store::Retention retention;
  Duration heartbeat_every{2s};
  Duration status_every{5s};
  Duration prune_every{10s};
  std::int64_t prune_rows = 2000;  // per step; steps follow each other while there is more
};

class Housekeeping {
 public:
  struct Hooks {
    std::function<std::string()> sinks_json;                         // what the heartbeat carries
    std::function<void(const std::vector<StoreStatus>&)> on_status;  // the figures, one per feed in their order
    std::function<void(const std::vector<SinkPause>&)> on_pauses;    // with every heartbeat: which sinks are paused
  };
  // The hooks are called from its thread.
  Housekeeping(std::unique_ptr<Store> store, HousekeepingOptions options, Hooks hooks);
  // Writes a last heartbeat that says "stopping", if the database answers.
  ~Housekeeping();

 private:
  void run(const std::stop_token& stop);
  bool beat(bool stopping);
  void read_pauses();
  void look();
  void prune(const std::stop_token& stop);

  std::unique_ptr<Store> store_;
  const HousekeepingOptions options_;
  const Hooks hooks_;
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::jthread thread_;
};

}  // namespace outbox
