// SimSource: reads the simulated outbox table as the sources of source/poll do: by snapshot windows (with the same
// SnapshotWindow), by an id cursor, or by sweeping rows that are not marked. Never blocks, never fails: delays and
// failures are the driver's (relay.h).
#pragma once

#include <memory>
#include <set>
#include <vector>

#include "database.h"
#include "model/lanes.h"
#include "source/poll/snapshot_window.h"
#include "source/source.h"

namespace outbox::sim {

// How many records that a source has read are still in memory somewhere, and their bytes.
struct Held {
  std::size_t records = 0;
  std::size_t bytes = 0;
};

class SimSource final : public Source {
 public:
  SimSource(const Scenario& scenario, Database& database, Loop& loop, Dice& dice, Lanes lanes);

  Result<void> open(const Position& start) override;
  Result<Page> fetch(std::size_t max_records, std::size_t max_bytes) override;
  bool repeats() const override { return scenario_.mode == Mode::mark; }

  const Held& held() const { return *held_; }

 private:
  void fetch_window(Page& page, std::size_t max_records, std::size_t max_bytes);
  bool open_window();
  std::vector<const Message*> rows_of_window() const;
  void fetch_cursor(Page& page, std::size_t max_records, std::size_t max_bytes);
  void fetch_sweep(Page& page, std::size_t max_records, std::size_t max_bytes);
  bool concerns(const Message& message) const;
  RecordPtr read(const Message& message);

  const Scenario& scenario_;
  Database& database_;
  Loop& loop_;
  Dice& dice_;
  std::shared_ptr<Held> held_ = std::make_shared<Held>();
  SnapshotWindow window_;
  std::int64_t cursor_ = 0;
  const Lanes lanes_;
  std::set<int> swept_;  // read since the last sweep began
};

}  // namespace outbox::sim
