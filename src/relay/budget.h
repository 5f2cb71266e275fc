// RetryBudget: how many retries a sink gets, so that a far side in trouble is not sent a multiple of its usual traffic:
// a share of the first tries, and a floor per second beside it. A token bucket; first tries are never held by it.
//
// Thread: none of its own.
#pragma once

#include <cstdint>

#include "relay/clock.h"

namespace outbox {

struct RetryBudgetPolicy {
  int percent = 10;     // retries per hundred first tries
  int per_second = 10;  // and these in any case; at least 1, or a message alone would wait for ever
};

// Holds at most ten seconds of the floor and begins with one: what is due after a long stop does not come at once.
class RetryBudget {
 public:
  explicit RetryBudget(RetryBudgetPolicy policy);

  // Retries that may go out now.
  std::int64_t tokens(SteadyTime now);
  // When there is a token next, if nothing is tried for the first time until then. As of the last tokens().
  SteadyTime next_at() const;
  void first_try();
  void take();

 private:
  RetryBudgetPolicy policy_;
  std::int64_t units_;
  SteadyTime filled_at_ = kNeverSteady;  // kNeverSteady: not asked yet
};

}  // namespace outbox
