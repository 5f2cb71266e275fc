// Tally: what became of the deliveries to each sink since the relay was started, over all shares that it had.
//
// Thread: any.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "relay/runner.h"

namespace outbox {

class Tally : public RelayObserver {
 public:
  struct Counts {
    std::uint64_t delivered = 0;
    std::uint64_t died = 0;
    std::chrono::steady_clock::time_point failed_at;  // the epoch: no delivery has failed yet
  };

  Counts of(const std::string& sink) const {
    const std::lock_guard lock(mutex_);
    const auto found = counts_.find(sink);
    return found == counts_.end() ? Counts() : found->second;
  }

  void confirmed(const std::string& sink, Duration, Duration) override {
    const std::lock_guard lock(mutex_);
    ++counts_[sink].delivered;
  }
  void attempted(const std::string& sink, Verdict verdict) override {
    if (verdict == Verdict::delivered) return;
    const std::lock_guard lock(mutex_);
    counts_[sink].failed_at = std::chrono::steady_clock::now();
  }
  void dead(const std::string& sink, const std::string&) override {
    const std::lock_guard lock(mutex_);
    ++counts_[sink].died;
  }
  void polled(Duration) override {}
  void breaker_changed(const std::string&, BreakerState) override {}

 private:
  mutable std::mutex mutex_;
  std::map<std::string, Counts> counts_;
};

}  // namespace outbox
