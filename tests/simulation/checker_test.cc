#include "checker.h"

#include <gtest/gtest.h>

namespace outbox::sim {
namespace {

const std::vector<LedgerEntry> kLedger{
    {"a1", "a", 1, false}, {"a2", "a", 2, false}, {"a3", "a", 3, false}, {"b1", "b", 1, false}};

TEST(Checker, CommittedIsDeliveredOrDead) {
  const CheckResult result = check(kLedger, {"a1", "b1", "a2"}, {"a3"});
  EXPECT_TRUE(result.clean()) << result.text();
  EXPECT_EQ(result.delivered, 3);
  EXPECT_EQ(result.dead, 1);
}

TEST(Checker, NamesWhatIsLost) { EXPECT_EQ(check(kLedger, {"a1", "b1"}, {"a3"}).lost, std::vector<std::string>{"a2"}); }

TEST(Checker, NamesGhosts) {
  EXPECT_EQ(check(kLedger, {"a1", "a2", "a3", "b1", "c9"}, {}).ghosts, std::vector<std::string>{"c9"});
}

TEST(Checker, OnlyFirstDeliveriesOfAKeyAreInOrder) {
  const CheckResult again = check(kLedger, {"b1", "a1", "a2", "a1", "a3", "a2"}, {});
  EXPECT_TRUE(again.clean()) << again.text();
  EXPECT_EQ(again.duplicates, 2);
  EXPECT_EQ(check(kLedger, {"a1", "a3", "a2", "b1"}, {}).out_of_order.size(), 1u);
}

TEST(Checker, WhatIsReleasedLaterIsExempt) {
  auto ledger = kLedger;
  ledger[0].exempt = true;
  EXPECT_TRUE(check(ledger, {"a2", "a1", "a3", "b1"}, {}).clean());
}

}  // namespace
}  // namespace outbox::sim
