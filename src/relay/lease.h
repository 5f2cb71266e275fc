// Lease: what this process knows of its own lease, between the thread that renews it and the runners whose shares stand
// on it. Its clock goes on while the process is stopped or the machine sleeps.
//
// A lease that ran out is another lease when it is renewed: a runner that slept through the gap finds its term over,
// and takes its share over anew before it hands anything to a sink.
#pragma once

#include <time.h>

#include <chrono>
#include <cstdint>
#include <mutex>

#include "base/time.h"

namespace outbox {

class Lease {
 public:
  using Clock = std::chrono::nanoseconds;  // since boot

  static Clock now() {
    timespec at{};
    ::clock_gettime(CLOCK_BOOTTIME, &at);
    return std::chrono::seconds(at.tv_sec) + std::chrono::nanoseconds(at.tv_nsec);
  }

  // The term that is valid now; 0: none.
  std::uint64_t term() const {
    const std::lock_guard lock(mutex_);
    return now() < until_ ? term_ : 0;
  }
  // The store renewed it for `lasts`, in answer to a question asked at `asked_at`.
  void renewed(Clock asked_at, Duration lasts) {
    const std::lock_guard lock(mutex_);
    if (now() >= until_) ++term_;  // the process may have slept between its question and the answer
    until_ = asked_at + lasts;
  }
  // How long the term has to go; not positive: it is over.
  Duration left() const {
    const std::lock_guard lock(mutex_);
    return std::chrono::duration_cast<Duration>(until_ - now());
  }

 private:
  mutable std::mutex mutex_;
  std::uint64_t term_ = 0;
  Clock until_{0};
};

}  // namespace outbox
