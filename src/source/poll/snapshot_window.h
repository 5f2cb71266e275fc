// SnapshotWindow: which part of a PostgreSQL outbox table is to be read next, as PgQ reads its
// queues.
//
// Two snapshots S1 ≤ S2 cut a window: the rows that S2 sees and S1 does not. Whatever commits later, nothing joins it,
// so (S1, S2, last seq read) is an exact place, also after a restart. Inside a window rows are read by seq, those of
// transactions that S1 saw in progress ("late" rows) merged among the others ("fresh" rows: xid ≥ xmax(S1)).
//
// Plain values and no SQL, thread or clock: SnapshotSource carries the steps out on a database, the simulator on a
// model of one. Snapshots are opaque texts, compared for equality only. The round of steps:
//
//   start(position) ─► next(): open   if the position stands inside a window (its S2 is kept, never taken anew)
//                              probe  otherwise
//   probe: take the current snapshot          ─► probed(snapshot)
//   open:  bounds of the window, its first page ─► opened(bounds), then read() as for a page
//   page:  up to n rows of the window, last < seq ≤ hi, in ascending seq
//          (fresh ones need seq > max(last, fresh_lo) only to spare the walk) ─► read(last seq, …)
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "model/position.h"

namespace outbox {

class SnapshotWindow {
 public:
  enum class Step { probe, open, page };

  // Over all rows of the window, those already read included.
  struct Bounds {
    std::int64_t lo = 0;                   // least seq - 1
    std::int64_t hi = 0;                   // greatest seq
    std::optional<std::int64_t> fresh_lo;  // least seq of the fresh rows - 1; none: all rows are late
  };

  void start(const Position& position);

  Step next() const { return step_; }

  // The answer to `probe`. False: nothing was committed since S1 and nothing ended; the next step is another probe.
  bool probed(const std::string& snapshot);

  // The answer to `open`. nullopt: no row of the window is left to read. The window is over: S1 := S2 in memory only,
  // nothing has to be stored for that. True: rows are to come.
  bool opened(const std::optional<Bounds>& bounds);

  // A page of `open` or `page` was read up to and including `seq`; `exhausted`: it held fewer rows than were asked
  // for, so nothing comes after it. True: the window is over, and the next step is a probe.
  bool read(std::int64_t seq, bool exhausted);

  // The window that the current step belongs to. Between two windows `to` is empty.
  const Window& window() const { return window_; }
  // True while the window is one that `start` named: the relay's stored position stands inside it.
  bool resumed() const { return resumed_; }

  // Rows up to here were read. Before opened(): where a resumed window goes on, else the least number there is.
  std::int64_t last() const { return last_; }
  std::int64_t hi() const { return bounds_.hi; }
  // Fresh rows start behind this seq; hi() if there are none.
  std::int64_t fresh_lo() const { return bounds_.fresh_lo.value_or(bounds_.hi); }

 private:
  void finish();

  Step step_ = Step::probe;
  Window window_;
  Bounds bounds_;
  std::int64_t last_ = 0;
  bool resumed_ = false;
};

}  // namespace outbox
