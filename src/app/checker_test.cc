#include "app/checker.h"

#include <gtest/gtest.h>

namespace outbox {
namespace {

Evidence two_keys() {
  Evidence evidence;
  evidence.committed = {{"a1", "a", 1}, {"a2", "a", 2}, {"b1", "b", 1}, {"a3", "a", 3}};
  evidence.arrived = {"a1", "b1", "a2", "a3"};
  evidence.effects = 4;
  return evidence;
}

TEST(Checker, FindsNothingWrongWhereNothingIs) {
  const auto verdict = check(two_keys());
  EXPECT_TRUE(verdict.clean());
  EXPECT_EQ(verdict.committed, 4);
  EXPECT_EQ(verdict.delivered, 4);
  EXPECT_EQ(verdict.duplicates, 0);
  EXPECT_TRUE(verdict.faults.empty());
}

TEST(Checker, CountsRepeatsOnceEachAndNotAsInversions) {
  auto evidence = two_keys();
  evidence.arrived.insert(evidence.arrived.end(), {"a1", "a1", "a3"});
  const auto verdict = check(evidence);
  EXPECT_EQ(verdict.duplicates, 3);
  EXPECT_EQ(verdict.delivered, 4);
  EXPECT_TRUE(verdict.clean());
}

TEST(Checker, AMessageThatNeitherArrivedNorDiedIsLost) {
  auto evidence = two_keys();
  evidence.arrived = {"a1", "a3"};
  evidence.effects = 2;
  evidence.dead = {"b1", "b1"};
  const auto verdict = check(evidence);
  EXPECT_EQ(verdict.lost, 1);
  EXPECT_EQ(verdict.dead, 1);
  EXPECT_FALSE(verdict.clean());
  ASSERT_EQ(verdict.faults.size(), 1u);
  EXPECT_EQ(verdict.faults[0], "lost: a2 (a number 2) was committed");
}

TEST(Checker, WhatWasNeverCommittedIsAGhost) {
  auto evidence = two_keys();
  evidence.arrived.insert(evidence.arrived.begin(), "x");
  evidence.dead = {"y"};
  const auto verdict = check(evidence);
  EXPECT_EQ(verdict.ghosts, 2);
  EXPECT_EQ(verdict.delivered, 4);
  EXPECT_FALSE(verdict.clean());
}

TEST(Checker, EveryFirstArrivalBehindALaterOneOfItsKeyIsAnInversion) {
  auto evidence = two_keys();
  evidence.arrived = {"a3", "b1", "a1", "a2"};
  const auto verdict = check(evidence);
  EXPECT_EQ(verdict.out_of_order, 2);
  EXPECT_FALSE(verdict.clean());
  evidence.unordered = {"a3"};
  EXPECT_TRUE(check(evidence).clean());
}

TEST(Checker, MoreEffectsThanMessagesIsAFault) {
  auto evidence = two_keys();
  evidence.arrived.push_back("a1");
  evidence.effects = 5;
  EXPECT_FALSE(check(evidence).clean());
}

TEST(Checker, NamesOnlyTheFirstFaultsOfAKind) {
  Evidence evidence;
  for (int i = 0; i < 100; ++i) evidence.committed.push_back({"m" + std::to_string(i), "k", i});
  const auto verdict = check(evidence);
  EXPECT_EQ(verdict.lost, 100);
  EXPECT_EQ(verdict.faults.size(), 5u);
}

}  // namespace
}  // namespace outbox
