// Source: where records come from. One source reads one outbox table for one feed: every sink that can keeps a position
// of its own, and then is a feed by itself; sinks that share marks in the table share a feed
// (docs/adr/0001-a-feed-per-sink.md).
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "base/result.h"
#include "model/position.h"
#include "model/record.h"

namespace outbox {

struct Page {
  std::vector<RecordPtr> records;  // in delivery order
  Window window;                   // position mode: the window that all of them belong to
  bool window_done = false;        // position mode: nothing of the window comes after this page
  bool full = false;               // more is likely there at once
  Time database_now{};             // Time{}: this page does not say
};

// Promises, for writers that hold the aggregate's lock before they enqueue: records of one key come in commit order.
// A record that was not settled before close or crash comes again. Nothing of an uncommitted or rolled-back
// transaction ever comes.
//
// Thread: one, which may block in the database. A source owns its connection and reconnects by itself in open().
class Source {
 public:
  virtual ~Source() = default;

  // Starts (again) behind `start`; called first, and after any failure. Records that stand in `start.ahead` come again
  // all the same: the relay knows them. A source without positions (mark, delete) ignores it.
  virtual Result<void> open(const Position& start) = 0;

  // Up to `max_records` and roughly `max_bytes` (at least one record when there is one). Does not wait for new rows:
  // an empty page means that there is nothing now. Blocks for one database round trip.
  virtual Result<Page> fetch(std::size_t max_records, std::size_t max_bytes) = 0;

  // True where a record may be fetched again while it is unsettled (mark and delete: the table is swept from the
  // beginning every few seconds). The relay drops repeats of what it holds.
  virtual bool repeats() const = 0;
};

}  // namespace outbox
