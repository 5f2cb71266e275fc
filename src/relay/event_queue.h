// EventQueue: how threads hand events to the one thread that owns a core. Unbounded in form, bounded in fact: each kind
// of command is outstanding at most once, and a sink has at most its window in flight.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <utility>
#include <vector>

namespace outbox {

template <class Event>
class EventQueue {
 public:
  // Any thread.
  void push(Event event) {
    {
      const std::lock_guard lock(mutex_);
      events_.push_back(std::move(event));
    }
    ready_.notify_one();
  }

  // All that has come, in order; blocks until there is something or `deadline` is reached (then empty).
  std::vector<Event> take(std::chrono::steady_clock::time_point deadline) {
    std::unique_lock lock(mutex_);
    ready_.wait_until(lock, deadline, [&] { return !events_.empty(); });
    return std::exchange(events_, {});
  }

 private:
  std::mutex mutex_;
  std::condition_variable ready_;
  std::vector<Event> events_;
};

}  // namespace outbox
