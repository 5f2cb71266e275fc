// The demo: a shop on SQLite, a partner who misbehaves in turns, and a relay between them that is killed twice. At the
// end the checker says whether every order became exactly one invoice.
//
// Thread: the caller's, which run() keeps until it is over.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/checker.h"
#include "app/demo_partner.h"
#include "app/demo_shop.h"
#include "app/relay_process.h"
#include "store/store.h"

namespace outbox::app {

// What a viewer may show, taken a few times a second.
struct DemoPicture {
  Duration elapsed{};
  std::optional<Duration> of;
  DemoShop::Counts shop;
  DemoPartner::Counts partner;
  Mood mood = Mood::well;
  bool relay_runs = false;
  int kills = 0;
  std::int64_t unsent = 0;
  std::int64_t waiting = 0;
  std::int64_t dead = 0;
  std::string breaker;
};

class DemoViewer {
 public:
  virtual ~DemoViewer() = default;
  virtual void show(const DemoPicture& picture) = 0;
  virtual void happened(Duration elapsed, const std::string& what) = 0;
};

class Demo {
 public:
  // Everything lives in `folder`, which has to be empty.
  Demo(std::filesystem::path folder, DemoViewer& viewer) : folder_(std::move(folder)), viewer_(viewer) {}

  // Trades for most of `run_for` (absent: until `interrupted` says so), then lets everything arrive, and judges.
  Result<Findings> run(std::optional<Duration> run_for,
                       const std::function<bool(std::chrono::milliseconds)>& interrupted);

 private:
  Result<void> open();
  Result<void> write_config();
  Result<void> start_relay();
  void kill_relay();
  Result<void> trade(std::optional<Duration> lasts);
  Result<void> settle_down();
  Result<Findings> judge();
  Result<std::vector<std::string>> dead_letters() const;
  void look();
  Duration elapsed() const;
  std::string config_file() const { return (folder_ / "outboxd.yaml").string(); }

  const std::filesystem::path folder_;
  DemoViewer& viewer_;
  std::function<bool(std::chrono::milliseconds)> interrupted_;
  std::optional<Duration> run_for_;
  std::chrono::steady_clock::time_point started_;
  bool stopped_early_ = false;
  std::unique_ptr<DemoShop> shop_;
  std::unique_ptr<DemoPartner> partner_;
  std::unique_ptr<Store> store_;
  std::optional<RelayProcess> relay_;
  DemoPicture picture_;
};

}  // namespace outbox::app
