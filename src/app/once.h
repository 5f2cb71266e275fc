// `run --once`: what is left, and when waiting on is of no use.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "config/settings.h"
#include "relay/runner.h"

namespace outbox::app {

// Something is waiting and due, or died.
bool anything_left(const std::vector<FeedView>& feeds);

// Watches a relay that drains. It gives up
// - the database, once it has failed for kDatabasePatience without a break;
// - the far side, once nothing was tried for longer than the configuration's own retries wait (the longest retry.cap)
//   and kTryPatience. Only what asks for more itself, such as a Retry-After of a day, is that slow.
//
// Thread: one at a time. It reads no clock: the caller says when it looks.
class OnceWatch {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::seconds kDatabasePatience{5};
  static constexpr std::chrono::seconds kTryPatience{5};

  OnceWatch(const config::Settings& settings, Clock::time_point now);

  struct GivenUp {
    int code;  // what the process returns
    std::string what;
  };
  // `last_failure`: when a delivery last failed; the epoch: none did yet.
  std::optional<GivenUp> look(const std::vector<FeedView>& feeds, Clock::time_point last_failure,
                              Clock::time_point now);

 private:
  Clock::duration longest_pause_;
  Clock::time_point database_well_at_;
  Clock::time_point tried_at_;
  std::uint64_t tried_ = 0;
};

}  // namespace outbox::app
