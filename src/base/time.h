// Time and Duration: microseconds, UTC.
//
// A Time is always the database's clock, as far as this process knows it: due times, leases and ages are judged
// by it. The runner keeps the offset between that clock and the machine's steady clock.
#pragma once

#include <chrono>

namespace outbox {

using Duration = std::chrono::microseconds;
using Time = std::chrono::sys_time<Duration>;

using namespace std::chrono_literals;

inline constexpr Time kNever = Time::max();

}  // namespace outbox
