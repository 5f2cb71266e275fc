// Loop: virtual time. Actions run one after another, by time, those of one moment in the order they were asked for.
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <vector>

#include "base/time.h"

namespace outbox::sim {

class Loop {
 public:
  using Action = std::function<void()>;

  Time now() const { return now_; }
  // Number of actions run so far: a stamp that orders what happened at one moment.
  std::uint64_t step() const { return step_; }

  void at(Time when, Action action) { queue_.push({when < now_ ? now_ : when, asked_++, std::move(action)}); }
  void after(Duration delay, Action action) { at(now_ + delay, std::move(action)); }

  // Runs the next action; false if there is none.
  bool run_one() {
    if (queue_.empty()) return false;
    Action action = std::move(const_cast<Entry&>(queue_.top()).action);
    now_ = queue_.top().when;
    queue_.pop();
    ++step_;
    action();
    return true;
  }

 private:
  struct Entry {
    Time when;
    std::uint64_t order;
    Action action;
    bool operator<(const Entry& other) const { return when != other.when ? when > other.when : order > other.order; }
  };

  Time now_{1s};
  std::uint64_t step_ = 0;
  std::uint64_t asked_ = 0;
  std::priority_queue<Entry> queue_;
};

}  // namespace outbox::sim
