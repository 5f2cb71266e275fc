#include "relay/budget.h"

#include <algorithm>

#include "relay/variant.h"

namespace outbox {

namespace {

// What one microsecond of a floor of one per second, and one percent of a first try, are whole numbers of.
constexpr std::int64_t kToken = 100'000'000;
constexpr std::int64_t kPerMicrosecond = kToken / 1'000'000;
constexpr std::int64_t kPercent = kToken / 100;
constexpr std::int64_t kSecondsHeld = 10;
constexpr Duration kLongest{kSecondsHeld * 1s};

}  // namespace

RetryBudget::RetryBudget(RetryBudgetPolicy policy)
    : policy_{std::max(policy.percent, 0), std::max(policy.per_second, 1)}, units_(policy_.per_second * kToken) {}

std::int64_t RetryBudget::tokens(SteadyTime now) {
  if (filled_at_ != kNeverSteady && now > filled_at_) {
    const std::int64_t passed = std::min(now - filled_at_, kLongest).count();
    units_ =
        std::min(units_ + passed * kPerMicrosecond * policy_.per_second, kSecondsHeld * policy_.per_second * kToken);
  }
  filled_at_ = now;
  return broken(Variant::budget_ignored) ? kSecondsHeld * policy_.per_second : units_ / kToken;
}

SteadyTime RetryBudget::next_at() const {
  if (units_ >= kToken || filled_at_ == kNeverSteady) return filled_at_;
  const std::int64_t rate = kPerMicrosecond * policy_.per_second;
  return filled_at_ + Duration((kToken - units_ + rate - 1) / rate);
}

void RetryBudget::first_try() {
  units_ = std::min(units_ + policy_.percent * kPercent, kSecondsHeld * policy_.per_second * kToken);
}

void RetryBudget::take() { units_ = std::max<std::int64_t>(units_ - kToken, 0); }

}  // namespace outbox
