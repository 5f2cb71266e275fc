// The relay's two clocks. What it waits for by itself (a backoff, a breaker, the next poll) goes by the machine's
// steady clock, which only moves on: a database whose clock is set back or forward stalls nothing and hurries nothing.
// The database's clock judges what is stored, because other relays and the next life judge it, too: when a parked
// delivery is due (next_attempt, not_before), and ages. What was stored before that clock was set back waits for the
// moment that was stored.
//
// Two types, so that the compiler keeps them apart.
#pragma once

#include <chrono>

#include "base/time.h"

namespace outbox {

using SteadyTime = std::chrono::time_point<std::chrono::steady_clock, Duration>;
inline constexpr SteadyTime kNeverSteady = SteadyTime::max();

// One moment on both. `database` is as of the last answer that brought it, and may go to and fro.
struct Now {
  SteadyTime steady{};
  Time database{};
};

}  // namespace outbox
