#include "relay/budget.h"

#include <gtest/gtest.h>

namespace outbox {
namespace {

const SteadyTime kStart{1h};

int taken_at_once(RetryBudget& budget, SteadyTime now) {
  int taken = 0;
  for (; budget.tokens(now) > 0; ++taken) budget.take();
  return taken;
}

TEST(RetryBudgetTest, BeginsWithOneSecondOfTheFloor) {
  RetryBudget budget({10, 7});
  EXPECT_EQ(taken_at_once(budget, kStart), 7);
}

TEST(RetryBudgetTest, TheFloorComesWithTime) {
  RetryBudget budget({0, 4});
  taken_at_once(budget, kStart);
  EXPECT_EQ(budget.next_at(), kStart + 250ms);
  EXPECT_EQ(budget.tokens(kStart + 249ms), 0);
  EXPECT_EQ(budget.tokens(kStart + 250ms), 1);
  EXPECT_EQ(taken_at_once(budget, kStart + 2s), 8);
}

TEST(RetryBudgetTest, AShareOfTheFirstTriesComesOnTop) {
  RetryBudget budget({20, 10});
  taken_at_once(budget, kStart);
  for (int i = 0; i < 50; ++i) budget.first_try();
  EXPECT_EQ(taken_at_once(budget, kStart), 10);
}

// After a long quiet time, or a clock that jumps, no more than ten seconds' worth goes out at once.
TEST(RetryBudgetTest, HoldsTenSecondsOfTheFloor) {
  RetryBudget budget({100, 3});
  taken_at_once(budget, kStart);
  for (int i = 0; i < 1000; ++i) budget.first_try();
  EXPECT_EQ(taken_at_once(budget, kStart + 1000h), 30);
  EXPECT_EQ(taken_at_once(budget, kStart), 0) << "a clock that is set back gives nothing";
  EXPECT_EQ(taken_at_once(budget, kStart + 1s), 3);
}

TEST(RetryBudgetTest, AFloorOfNothingIsLiftedToOne) {
  RetryBudget budget({0, 0});
  EXPECT_EQ(taken_at_once(budget, kStart), 1);
  EXPECT_EQ(taken_at_once(budget, kStart + 1s), 1);
}

}  // namespace
}  // namespace outbox
