#include "relay/sharing.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace outbox {
namespace {

// A feed that relays share, one decision of each a round, as the store would carry them out.
class SharingTest : public testing::Test {
 protected:
  SharingTest() { roster.shares.push_back({"events", {}, ""}); }

  void join(const std::string& relay) { roster.holders.push_back({"events", relay, ""}); }
  void leave(const std::string& relay) {
    std::erase_if(roster.holders, [&](const LeaseHolder& each) { return each.relay == relay; });
    for (Share& share : roster.shares) {
      if (share.owner == relay) share.owner.clear();
    }
  }
  int moves() {
    const Roster seen = roster;
    int count = 0;
    for (const LeaseHolder& holder : seen.holders) {
      for (const SharingMove& move : next_moves(seen, holder.relay, "events", true)) {
        ++count;
        carry_out(holder.relay, move);
      }
    }
    return count;
  }
  // Until nothing changes; returns how often a share changed hands.
  int settle() {
    int all = 0;
    for (int round = 0; round < 50; ++round) {
      const int done = moves();
      if (done == 0) return all;
      all += done;
    }
    ADD_FAILURE() << "no end of moves";
    return all;
  }
  int lanes(const std::string& relay) const {
    int sum = 0;
    for (const Share& share : roster.shares) sum += share.owner == relay ? share.lanes.size() : 0;
    return sum;
  }
  void expect_whole() const {
    std::vector<Share> shares = roster.shares;
    std::sort(shares.begin(), shares.end(), [](const Share& a, const Share& b) { return a.lanes < b.lanes; });
    int next = 0;
    for (const Share& share : shares) {
      EXPECT_EQ(share.lanes.first, next);
      next = share.lanes.last + 1;
    }
    EXPECT_EQ(next, kLanes);
  }

  Roster roster;

 private:
  void carry_out(const std::string& relay, const SharingMove& move) {
    const auto found = std::find_if(roster.shares.begin(), roster.shares.end(),
                                    [&](const Share& each) { return each.lanes == move.share.lanes; });
    ASSERT_NE(found, roster.shares.end());
    if (move.kind == SharingMove::Kind::take) {
      EXPECT_EQ(found->owner, "");
      found->owner = relay;
      return;
    }
    EXPECT_EQ(found->owner, relay);
    if (move.from == found->lanes.first) {
      found->owner.clear();
      return;
    }
    const Share rest{found->feed, {move.from, found->lanes.last}, ""};
    found->lanes.last = move.from - 1;
    roster.shares.push_back(rest);
  }
};

TEST_F(SharingTest, OneAloneHasAllInOneShare) {
  join("a");
  settle();
  EXPECT_EQ(lanes("a"), kLanes);
  EXPECT_EQ(roster.shares.size(), 1u);
}

TEST_F(SharingTest, AJoinerGetsItsPartInTwoRounds) {
  join("a");
  settle();
  join("b");
  moves(), moves();
  EXPECT_EQ(lanes("a"), 32);
  EXPECT_EQ(lanes("b"), 32);
  EXPECT_EQ(moves(), 0);
}

TEST_F(SharingTest, ThreeHaveFairParts) {
  join("a"), settle(), join("b"), settle(), join("c"), settle();
  for (const char* relay : {"a", "b", "c"}) {
    EXPECT_GE(lanes(relay), 16) << relay;
    EXPECT_LE(lanes(relay), 26) << relay;
  }
  expect_whole();
}

TEST_F(SharingTest, WhatADeadOneHadIsDivided) {
  join("a"), settle(), join("b"), settle(), join("c"), settle();
  leave("b");
  settle();
  EXPECT_EQ(lanes("a") + lanes("c"), kLanes);
  EXPECT_LT(std::abs(lanes("a") - lanes("c")), 2 * kLanesMin + 1);
}

TEST_F(SharingTest, SharesStayFewHoweverOftenRelaysComeAndGo) {
  join("a"), join("b"), join("c");
  settle();
  for (int i = 0; i < 100; ++i) {
    const std::string relay(1, static_cast<char>('a' + i % 3));
    leave(relay);
    settle();
    join(relay);
    settle();
    expect_whole();
    ASSERT_LE(roster.shares.size(), static_cast<std::size_t>(kLanes / kLanesMin));
    ASSERT_GE(lanes(relay), 16);
  }
  EXPECT_LE(roster.shares.size(), 10u);
}

TEST_F(SharingTest, AFeedThatCannotBeCutHasOneOwner) {
  join("a"), join("b");
  EXPECT_EQ(next_moves(roster, "a", "events", false).size(), 1u);
  EXPECT_TRUE(next_moves(roster, "b", "events", false).empty());
  roster.shares[0].owner = "a";
  EXPECT_TRUE(next_moves(roster, "a", "events", false).empty());
  EXPECT_TRUE(next_moves(roster, "b", "events", false).empty());
}

TEST_F(SharingTest, OnlyWhoServesTheFeedCounts) {
  join("a"), settle();
  roster.holders.push_back({"audit", "b", ""});
  EXPECT_EQ(moves(), 0);
}

}  // namespace
}  // namespace outbox
