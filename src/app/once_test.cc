#include "app/once.h"

#include <gtest/gtest.h>

#include "app/cli.h"

namespace outbox::app {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class OnceWatchTest : public testing::Test {
 protected:
  OnceWatchTest() {
    settings_.sinks.emplace_back();
    settings_.sinks[0].retry.cap = seconds(30);
    FeedView feed;
    feed.reading = true;
    feed.sinks.emplace_back();
    feed.sinks[0].name = "web";
    feed.sinks[0].queued = 1;
    feeds_.push_back(feed);
  }

  SinkView& sink() { return feeds_[0].sinks[0]; }
  std::optional<OnceWatch::GivenUp> after(OnceWatch& watch, OnceWatch::Clock::duration time) {
    return watch.look(feeds_, last_failure_, start_ + time);
  }

  config::Settings settings_;
  std::vector<FeedView> feeds_;
  const OnceWatch::Clock::time_point start_ = OnceWatch::Clock::time_point(std::chrono::hours(1));
  OnceWatch::Clock::time_point last_failure_{};
};

TEST_F(OnceWatchTest, AwaitsTheRetriesOfTheConfigurationAndNoLongerOnes) {
  sink().held_because = "the far side asked to wait: http_429: try tomorrow";
  OnceWatch watch(settings_, start_);
  EXPECT_FALSE(after(watch, seconds(34)));
  const auto given_up = after(watch, seconds(35));
  ASSERT_TRUE(given_up);
  EXPECT_EQ(given_up->code, kAnswerIsNo);
  EXPECT_NE(given_up->what.find("web: the far side asked to wait: http_429: try tomorrow"), std::string::npos)
      << given_up->what;
}

TEST_F(OnceWatchTest, TheLongestCapOfSinksAndRoutesCounts) {
  settings_.sinks.emplace_back();
  settings_.sinks[1].retry.cap = seconds(60);
  settings_.routes.emplace_back();
  settings_.routes[0].retry = config::RetrySettings{};
  settings_.routes[0].retry->cap = seconds(90);
  OnceWatch watch(settings_, start_);
  EXPECT_FALSE(after(watch, seconds(94)));
  EXPECT_TRUE(after(watch, seconds(95)));
}

TEST_F(OnceWatchTest, EveryTryBeginsTheWaitAnew) {
  OnceWatch watch(settings_, start_);
  sink().in_flight = 1;
  EXPECT_FALSE(after(watch, seconds(100)));
  sink().in_flight = 0;
  EXPECT_FALSE(after(watch, seconds(134)));
  sink().delivered = 1;
  EXPECT_FALSE(after(watch, seconds(136)));
  last_failure_ = start_ + seconds(160);
  EXPECT_FALSE(after(watch, seconds(194)));
  EXPECT_TRUE(after(watch, seconds(195)));
}

TEST_F(OnceWatchTest, WhatIsNotDueYetIsNotAwaited) {
  sink().queued = 0;
  sink().parked.waiting = 2;
  sink().parked.not_due = 2;
  OnceWatch watch(settings_, start_);
  EXPECT_FALSE(after(watch, std::chrono::hours(1)));
}

TEST_F(OnceWatchTest, GivesUpADatabaseThatStaysIll) {
  OnceWatch watch(settings_, start_);
  feeds_[0].settle_error = "sqlite shop.db-outboxd: database or disk is full; free space on that disk";
  EXPECT_FALSE(after(watch, milliseconds(4900)));
  const auto given_up = after(watch, seconds(5));
  ASSERT_TRUE(given_up);
  EXPECT_EQ(given_up->code, kOutOfReach);
  EXPECT_EQ(given_up->what.find("sqlite shop.db-outboxd: database or disk is full"), 0u) << given_up->what;
}

TEST_F(OnceWatchTest, ADatabaseThatComesBackIsAwaited) {
  OnceWatch watch(settings_, start_);
  feeds_[0].database_error = "the connection is lost";
  EXPECT_FALSE(after(watch, seconds(4)));
  feeds_[0].database_error.clear();
  EXPECT_FALSE(after(watch, seconds(6)));
  feeds_[0].database_error = "the connection is lost";
  EXPECT_FALSE(after(watch, seconds(10)));
  EXPECT_TRUE(after(watch, seconds(11)));
}

}  // namespace
}  // namespace outbox::app
