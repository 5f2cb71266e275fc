// How a log line looks, and which repeats are left out. Behind base/log.h; apart for the tests.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>

#include "base/log.h"
#include "base/time.h"

namespace outbox::log {

// Without the line break. time, level and event come first, then the fields in their order.
std::string format_line(Format format, Time time, Level level, std::string_view event, std::span<const Field> fields);

std::string_view to_string(Level level);

// Lets the first line of a key through and then one per interval. Remembers a bounded number of keys.
class RepeatLimiter {
 public:
  using Clock = std::chrono::steady_clock;

  // How many lines of the key were left out since the last one that passed; nullopt: leave this one out too.
  std::optional<std::uint64_t> admit(const std::string& key, std::chrono::milliseconds interval, Clock::time_point now);

 private:
  struct Seen {
    Clock::time_point passed;
    Clock::time_point quiet_until;
    std::uint64_t suppressed = 0;
  };
  void forget_old(Clock::time_point now);

  std::unordered_map<std::string, Seen> seen_;
};

}  // namespace outbox::log
