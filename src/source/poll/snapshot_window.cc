#include "source/poll/snapshot_window.h"

#include <algorithm>
#include <limits>

#include "base/result.h"

namespace outbox {

namespace {
constexpr auto kBeforeAll = std::numeric_limits<std::int64_t>::min();
}

void SnapshotWindow::start(const Position& position) {
  window_ = {position.from, position.to};
  bounds_ = {};
  resumed_ = !position.to.empty();
  last_ = resumed_ ? position.seq : kBeforeAll;
  step_ = resumed_ ? Step::open : Step::probe;
}

bool SnapshotWindow::probed(const std::string& snapshot) {
  OUTBOX_ASSERT(step_ == Step::probe);
  // The whole text counts: a transaction that ends changes what is in progress without moving xmax.
  if (snapshot == window_.from) return false;
  window_.to = snapshot;
  step_ = Step::open;
  return true;
}

bool SnapshotWindow::opened(const std::optional<Bounds>& bounds) {
  OUTBOX_ASSERT(step_ == Step::open);
  if (!bounds || last_ >= bounds->hi) {
    finish();
    return false;
  }
  bounds_ = *bounds;
  last_ = std::max(last_, bounds_.lo);
  step_ = Step::page;
  return true;
}

bool SnapshotWindow::read(std::int64_t seq, bool exhausted) {
  OUTBOX_ASSERT(step_ == Step::page && seq >= last_);
  last_ = seq;
  if (!exhausted && last_ < bounds_.hi) return false;
  finish();
  return true;
}

void SnapshotWindow::finish() {
  window_ = {window_.to, {}};
  bounds_ = {};
  last_ = kBeforeAll;
  resumed_ = false;
  step_ = Step::probe;
}

}  // namespace outbox
