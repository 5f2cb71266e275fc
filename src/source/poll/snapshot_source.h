// SnapshotSource: reads a table with xid and seq columns by snapshot windows (snapshot_window.h), exactly.
#pragma once

#include <chrono>
#include <optional>
#include <vector>

#include "model/lanes.h"
#include "source/poll/poll_session.h"
#include "source/poll/snapshot_window.h"
#include "source/poll/table_shape.h"
#include "source/source.h"

namespace outbox {

class SnapshotSource : public Source {
 public:
  SnapshotSource(std::string url, const TableShape& shape, const Lanes& lanes);

  Result<void> open(const Position& start) override;
  Result<Page> fetch(std::size_t max_records, std::size_t max_bytes) override;
  bool repeats() const override { return false; }

 private:
  struct Collected {
    std::vector<RecordPtr> records;
    std::size_t bytes = 0;
    bool full_of_bytes = false;
    bool left = false;  // more of the window is to come
    std::optional<SnapshotWindow::Bounds> bounds;
  };

  Result<bool> probe();
  // False: `limit` has cut rows of one seq from each other.
  Result<bool> collect(std::size_t limit, std::size_t max_bytes, Collected& page);
  Result<Page> read(std::size_t max_records, std::size_t max_bytes);
  Time database_now() const;

  PollSession session_;
  bool payload_is_json_;
  SnapshotWindow window_;
  PageSize page_size_;
  Time probed_time_{};  // by the database's clock, at probed_at_
  std::chrono::steady_clock::time_point probed_at_{};
};

}  // namespace outbox
