// A poke says that there may be something new: the table is read without waiting for the next poll.
#include <gtest/gtest.h>

#include "relay/core.h"

namespace outbox {
namespace {

class PokeTest : public ::testing::Test {
 protected:
  PokeTest() {
    CoreOptions options;
    options.feed = {"events", {"events"}, true, true};
    options.sinks.push_back({"events", {}, {}, {}, 100});
    Route route;
    route.sink = "events";
    route.address = "topic";
    core_ = std::make_unique<Core>(options, std::make_shared<Router>(std::vector<Route>{route}), 1);
    core_->started({}, now_);
    while (take().due) core_->due(std::vector<ParkedRun>(), Store::Parking{{}, kNever}, now_);
    EXPECT_TRUE(fetches_);
  }

  Commands take() {
    Commands commands = core_->take();
    fetches_ = fetches_ || commands.fetch.has_value();
    return commands;
  }
  // The table was read, and there is nothing.
  bool reads_on_after_an_empty_page() {
    fetches_ = false;
    core_->fetched(Page{}, now_);
    take();
    return fetches_;
  }
  bool reads_when_poked() {
    fetches_ = false;
    core_->poke(now_);
    take();
    return fetches_;
  }

  Now now_{SteadyTime(1000s), Time(1000s)};
  std::unique_ptr<Core> core_;
  bool fetches_ = false;
};

TEST_F(PokeTest, TheTableIsReadAtOnce) {
  ASSERT_FALSE(reads_on_after_an_empty_page());
  EXPECT_TRUE(reads_when_poked());
}

TEST_F(PokeTest, WhatIsBeingReadMayBeOlderThanThePoke) {
  ASSERT_FALSE(reads_when_poked()) << "one fetch at a time";
  EXPECT_TRUE(reads_on_after_an_empty_page());
  EXPECT_FALSE(reads_on_after_an_empty_page()) << "one poke, one more reading";
}

TEST_F(PokeTest, ADatabaseThatFailsIsNotAskedMoreOften) {
  core_->fetched(Failure{FailureKind::unavailable, "away"}, now_);
  EXPECT_TRUE(take().restart);
  EXPECT_FALSE(reads_when_poked());
}

TEST_F(PokeTest, NothingIsReadWhileItStops) {
  ASSERT_FALSE(reads_on_after_an_empty_page());
  core_->stop(now_);
  EXPECT_FALSE(reads_when_poked());
}

}  // namespace
}  // namespace outbox
