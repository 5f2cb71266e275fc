// What /healthz and /readyz say, out of the runners' views. Pure functions.
#pragma once

#include <chrono>
#include <span>
#include <string>
#include <vector>

#include "relay/runner.h"

namespace outbox {

struct HealthReport {
  bool good = true;
  std::vector<std::string> reasons;  // why not; one line each

  std::string json(std::string_view name) const;  // {"ready":false,"reasons":["…"]}
};

// A core's thread that has not moved for this long counts as hung.
inline constexpr std::chrono::seconds kHungAfter{30};

// Alive: every feed's core moves. No reason to restart the process lies in a peer that is away.
HealthReport health(std::span<const FeedView> feeds, std::chrono::steady_clock::time_point now);

// Ready: every feed reads its database, and every sink takes messages.
HealthReport readiness(std::span<const FeedView> feeds, std::chrono::steady_clock::time_point now);

}  // namespace outbox
