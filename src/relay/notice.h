// Notice: which turns between well and ill are worth a line of the log. An outage has one line for its start and one
// for its end; what goes to and fro has such a pair every kNoticeEvery at most.
#pragma once

#include <optional>
#include <utility>

#include "relay/clock.h"

namespace outbox {

inline constexpr Duration kNoticeEvery{30s};

class Notice {
 public:
  // It is ill, or ill still. True: say so.
  bool ill(SteadyTime now) {
    if (told_ || (told_at_ && now - *told_at_ < kNoticeEvery)) return false;
    told_ = true;
    told_at_ = now;
    return true;
  }
  // True: say so, for that it was ill has been said.
  bool well() { return std::exchange(told_, false); }

 private:
  bool told_ = false;
  std::optional<SteadyTime> told_at_;
};

}  // namespace outbox
