#include "admin/health.h"

#include <gtest/gtest.h>

namespace outbox {
namespace {

const auto kNow = std::chrono::steady_clock::time_point(1h);

FeedView good_feed() {
  FeedView feed;
  feed.reading = true;
  feed.made_at = kNow - 1s;
  feed.sinks.resize(1);
  feed.sinks[0].name = "events";
  return feed;
}

TEST(Health, AllWell) {
  const std::vector feeds{good_feed()};
  EXPECT_TRUE(health(feeds, kNow).good);
  EXPECT_TRUE(readiness(feeds, kNow).good);
  EXPECT_EQ(readiness(feeds, kNow).json("ready"), "{\"ready\":true,\"reasons\":[]}\n");
}

TEST(Health, NothingRunsYetIsAliveButNotReady) {
  EXPECT_TRUE(health({}, kNow).good);
  EXPECT_FALSE(readiness({}, kNow).good);
}

TEST(Health, AHungThreadIsNeither) {
  std::vector feeds{good_feed()};
  feeds[0].made_at = kNow - 31s;
  EXPECT_FALSE(health(feeds, kNow).good);
  EXPECT_FALSE(readiness(feeds, kNow).good);
}

TEST(Health, ADatabaseThatIsAwayIsAliveButNotReady) {
  std::vector feeds{good_feed()};
  feeds[0].reading = false;
  feeds[0].database_error = "localhost:5432: connection refused";
  EXPECT_TRUE(health(feeds, kNow).good);
  EXPECT_EQ(readiness(feeds, kNow).json("ready"),
            "{\"ready\":false,\"reasons\":[\"feed of events: does not read: localhost:5432: connection refused\"]}\n");
}

TEST(Health, WhatCannotBeSettledIsSaid) {
  std::vector feeds{good_feed()};
  feeds[0].settle_error = "the archive is full";
  EXPECT_TRUE(health(feeds, kNow).good);
  EXPECT_EQ(readiness(feeds, kNow).json("ready"),
            "{\"ready\":false,\"reasons\":[\"feed of events: cannot settle: the archive is full\"]}\n");
}

TEST(Health, ASinkThatIsAwayIsAliveButNotReady) {
  std::vector feeds{good_feed()};
  feeds[0].sinks[0].breaker = BreakerState::open;
  feeds[0].sinks[0].breaker_reason = "refused";
  EXPECT_TRUE(health(feeds, kNow).good);
  EXPECT_EQ(readiness(feeds, kNow).reasons, std::vector<std::string>{"sink events: breaker open: refused"});
  feeds[0].sinks[0].breaker = BreakerState::closed;
  feeds[0].sinks[0].held_because = "parked deliveries are at their cap";
  EXPECT_FALSE(readiness(feeds, kNow).good);
}

}  // namespace
}  // namespace outbox
