// The database's clock is set back or forward: what the core waits for by itself takes no notice.
#include "relay/core_fixture.h"

namespace outbox {
namespace {

class CoreClockTest : public CoreTest {
 protected:
  Time database_now() const { return now + set_forward; }
};

TEST_F(CoreClockTest, SetBackItStallsNothing) {
  row("a");
  start();
  answer(delivered(""));
  set_forward = -1h;
  row("b"), row("c");
  pass(300ms);
  ASSERT_EQ(in_flight.size(), 2u) << "it polls on";
  answer(busy(Scope::message, "conflict", ""));
  ASSERT_EQ(parks().size(), 1u);
  EXPECT_GT(parks()[0].next_attempt, database_now());
  EXPECT_LE(parks()[0].next_attempt, database_now() + 1s) << "as the database will judge it";
  answer(busy(Scope::sink, "brokers_down", ""));
  pass(2s);
  ASSERT_EQ(in_flight.size(), 1u) << "a backoff in memory";
  answer(delivered(""));
  EXPECT_EQ(settled.back().position->seq, 3);
  EXPECT_EQ(core->view()[0].last_delivery, database_now());
}

TEST_F(CoreClockTest, SetForwardItHurriesNothing) {
  options.sinks[0].breaker = {1, 5s, 1min};
  row("a");
  start();
  answer(busy(Scope::sink, "brokers_down", ""));
  set_forward = 1h;
  pass(4s);
  EXPECT_TRUE(in_flight.empty()) << "the breaker is open";
  pass(2s);
  EXPECT_EQ(in_flight.size(), 1u);
}

TEST_F(CoreClockTest, WhatIsNotDueIsJudgedByIt) {
  start();
  set_forward = 1h;
  row("a", now + 30min);
  pass(300ms);
  EXPECT_EQ(in_flight.size(), 1u);
  set_forward = -1h;
  row("b", now - 30min);
  pass(300ms);
  ASSERT_EQ(parks().size(), 1u);
  EXPECT_TRUE(parks()[0].not_due);
}

}  // namespace
}  // namespace outbox
