#include "relay/progress.h"

#include <algorithm>
#include <utility>

#include "base/result.h"
#include "relay/variant.h"

namespace outbox {

void Progress::restart(const Position& start) {
  const bool keep = keeps_settled_;
  *this = Progress();
  keeps_settled_ = keep;
  prefix_ = start;
  ahead_at_start_.insert(start.ahead.begin(), start.ahead.end());
  window_at_start_ = start.to;
}

std::size_t Progress::HashOfRow::operator()(const RowRef& row) const {
  return std::hash<std::uint64_t>()(static_cast<std::uint64_t>(row.seq) * 0x9E3779B97F4A7C15u ^ row.xid);
}

bool Progress::was_ahead(const Record& record) {
  if (!broken(Variant::ahead_by_seq)) return ahead_at_start_.erase({record.seq, record.xid}) > 0;
  const auto same_seq = std::find_if(ahead_at_start_.begin(), ahead_at_start_.end(),
                                     [&](const RowRef& row) { return row.seq == record.seq; });
  if (same_seq == ahead_at_start_.end()) return false;
  ahead_at_start_.erase(same_seq);
  return true;
}

Ordinal Progress::add(RecordPtr record, unsigned deliveries, const Window& window) {
  if (stretches_.empty() || stretches_.back().done || stretches_.back().window != window) {
    if (!stretches_.empty()) stretches_.back().done = true;
    stretches_.push_back({window, false, 0});
  }
  ++stretches_.back().records;
  const Ordinal ordinal = base_ + slots_.size();
  bytes_ += record->bytes();
  const RowRef row{record->seq, record->xid};
  Slot slot{std::move(record), row, deliveries, stretch_base_ + stretches_.size() - 1};
  slots_.push_back(std::move(slot));
  if (deliveries == 0) {
    become_settled(slots_.back());
    advance();
  }
  return ordinal;
}

void Progress::window_done(const Window& window) {
  if (stretches_.empty() || stretches_.back().window != window) return;
  stretches_.back().done = true;
  advance();
}

void Progress::settle(Ordinal ordinal) {
  if (broken(Variant::settle_before_confirm) && (ordinal < base_ || slots_[ordinal - base_].open == 0)) return;
  OUTBOX_ASSERT(ordinal >= base_ && ordinal - base_ < slots_.size());
  Slot& slot = slots_[ordinal - base_];
  OUTBOX_ASSERT(slot.open > 0);
  if (--slot.open > 0) return;
  become_settled(slot);
  advance();
}

void Progress::become_settled(Slot& slot) {
  bytes_ -= slot.record->bytes();
  ++settled_;
  moved_ = true;
  if (keeps_settled_) newly_settled_.push_back(std::move(slot.record));
  slot.record.reset();
}

RecordPtr Progress::front() const {
  const auto open = std::find_if(slots_.begin(), slots_.end(), [](const Slot& slot) { return slot.record != nullptr; });
  return open == slots_.end() ? nullptr : open->record;
}

void Progress::advance() {
  while (!stretches_.empty()) {
    Stretch& stretch = stretches_.front();
    if (stretch.records == 0) {
      if (!stretch.done) return;
      // The window is behind us: all that is visible in its end is settled.
      prefix_.from = stretch.window.to;
      prefix_.to.clear();
      // Its end was taken after all that any earlier life has read.
      if (stretch.window.to != window_at_start_) ahead_at_start_.clear();
      moved_ = true;
      stretches_.pop_front();
      ++stretch_base_;
      continue;
    }
    Slot& slot = slots_.front();
    if (!may_pass(slot)) return;
    prefix_.from = stretch.window.from;
    prefix_.to = stretch.window.to;
    prefix_.seq = slot.row.seq;
    moved_ = true;
    --settled_;
    --stretch.records;
    slots_.pop_front();
    ++base_;
  }
}

// A position inside a window cannot tell rows of one seq from each other: it passes all of them or none.
bool Progress::may_pass(const Slot& front) const {
  if (keeps_settled_) return front.open == 0;  // its row is marked, and there is no position
  for (const Slot& twin : slots_) {
    if (twin.row.seq != front.row.seq || twin.window != front.window) break;
    if (twin.open > 0) return false;
  }
  return true;
}

Position Progress::position(std::size_t ahead_max) const {
  Position position = prefix_;
  position.ahead.clear();
  if (broken(Variant::ahead_forgotten)) return position;
  position.ahead.assign(ahead_at_start_.begin(), ahead_at_start_.end());
  for (const Slot& slot : slots_) {
    if (position.ahead.size() >= ahead_max) break;
    if (slot.open == 0) position.ahead.push_back(slot.row);
  }
  if (broken(Variant::position_past_unsettled) && !position.ahead.empty()) position.seq = position.ahead.back().seq;
  return position;
}

std::vector<RecordPtr> Progress::take_settled() { return std::exchange(newly_settled_, {}); }

}  // namespace outbox
