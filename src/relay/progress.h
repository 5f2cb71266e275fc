// Progress: the records that were read and are not yet behind the position, in the order in which they were read, and
// which of them are settled. It yields the position that may be stored: the settled prefix, and what is settled ahead
// of it.
//
// Thread: none of its own. Grows with the window in flight only; a settled record's bytes are let go at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <unordered_set>
#include <vector>

#include "model/position.h"
#include "model/record.h"

namespace outbox {

using Ordinal = std::uint64_t;  // place in reading order, from 0 in each life

class Progress {
 public:
  void restart(const Position& start);

  // True, once, for a row that the start position had ahead: the record was settled in an earlier life.
  bool was_ahead(const Record& record);

  // Appends a record that `deliveries` sinks have to settle (0: settled at once).
  Ordinal add(RecordPtr record, unsigned deliveries, const Window& window);
  // Nothing of `window` comes after what was added so far.
  void window_done(const Window& window);

  // One of the record's deliveries is settled.
  void settle(Ordinal ordinal);

  std::size_t records() const { return slots_.size(); }  // read, and not yet behind the prefix
  std::size_t bytes() const { return bytes_; }           // of what is not settled
  std::size_t ahead() const { return settled_; }         // settled, and not yet behind the prefix
  // The first record that is not settled: it holds the prefix. Null if there is none.
  RecordPtr front() const;

  // True if position() has changed since the last call of mark_stored().
  bool moved() const { return moved_; }
  // The position to store, with at most `ahead_max` rows ahead.
  Position position(std::size_t ahead_max) const;
  void mark_stored() { moved_ = false; }
  void mark_unstored() { moved_ = true; }  // what position() gave was not stored after all

  // Records that became settled since the last call, for tables that are marked row by row.
  std::vector<RecordPtr> take_settled();
  std::size_t newly_settled() const { return newly_settled_.size(); }
  void keep_settled(bool keep) { keeps_settled_ = keep; }

 private:
  struct Slot {
    RecordPtr record;  // null once settled
    RowRef row;
    unsigned open = 0;
    std::uint64_t window = 0;
  };
  struct HashOfRow {
    std::size_t operator()(const RowRef& row) const;
  };
  struct Stretch {
    Window window;
    bool done = false;
    std::size_t records = 0;  // added and not yet behind the prefix
  };

  void advance();
  void become_settled(Slot& slot);
  bool may_pass(const Slot& front) const;

  std::deque<Slot> slots_;
  Ordinal base_ = 0;  // ordinal of slots_.front()
  std::deque<Stretch> stretches_;
  std::uint64_t stretch_base_ = 0;
  // Of the start position, not read again yet. Where the share was cut meanwhile, rows of the other part are among
  // them, which never will be: all go when a window that was opened in this life is behind the prefix.
  std::unordered_set<RowRef, HashOfRow> ahead_at_start_;
  std::string window_at_start_;  // Position::to then
  std::size_t bytes_ = 0;
  std::size_t settled_ = 0;
  Position prefix_;
  bool moved_ = false;
  bool keeps_settled_ = false;
  std::vector<RecordPtr> newly_settled_;
};

}  // namespace outbox
