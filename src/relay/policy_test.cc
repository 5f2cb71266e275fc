#include "relay/policy.h"

#include <gtest/gtest.h>

namespace outbox {
namespace {

const SteadyTime kStart{1h};

// Case B091: 2^n overflows int32 milliseconds at 22, int64 nanoseconds at 34, int64 microseconds at 44.
TEST(Backoff, SaturatesAtTheCap) {
  for (const int attempt : {13, 22, 23, 34, 35, 44, 54, 63, 64, 1000, 2'000'000'000}) {
    EXPECT_EQ(backoff_ceiling(1s, 1h, attempt), Duration(1h)) << attempt;
  }
}

TEST(Backoff, DoublesFromTheBase) {
  EXPECT_EQ(backoff_ceiling(1s, 30s, 1), Duration(1s));
  EXPECT_EQ(backoff_ceiling(1s, 30s, 2), Duration(2s));
  EXPECT_EQ(backoff_ceiling(1s, 30s, 5), Duration(16s));
  EXPECT_EQ(backoff_ceiling(1s, 30s, 6), Duration(30s));
}

// Case B093: a base of zero must not mean no backoff at all.
TEST(Backoff, HasAFloor) {
  Random random(1);
  for (int i = 0; i < 100; ++i) EXPECT_GE(full_jitter(Duration(0), 1h, 1, random), kBackoffFloor);
}

// Case B109: full jitter covers its whole band.
TEST(Backoff, FullJitterSpreads) {
  Random random(7);
  int low = 0;
  int high = 0;
  for (int i = 0; i < 1000; ++i) {
    const Duration pause = full_jitter(1s, 1h, 4, random);
    EXPECT_LE(pause, Duration(8s));
    if (pause < Duration(2s)) ++low;
    if (pause > Duration(6s)) ++high;
  }
  EXPECT_GT(low, 150);
  EXPECT_GT(high, 150);
}

TEST(BreakerTest, OpensAfterFailuresInARow) {
  Breaker breaker({3, 5s, 1min});
  breaker.failed(kStart, false);
  breaker.failed(kStart, false);
  breaker.succeeded();
  breaker.failed(kStart, false);
  breaker.failed(kStart, false);
  EXPECT_TRUE(breaker.admits(kStart));
  breaker.failed(kStart, false);
  EXPECT_EQ(breaker.state_at(kStart), BreakerState::open);
  EXPECT_FALSE(breaker.admits(kStart + 4s));
}

TEST(BreakerTest, HalfOpenAdmitsOneProbe) {
  Breaker breaker({1, 5s, 1min});
  breaker.failed(kStart, false);
  EXPECT_TRUE(breaker.admits(kStart + 5s));
  breaker.probe_started();
  EXPECT_FALSE(breaker.admits(kStart + 6s));
  breaker.succeeded();
  EXPECT_TRUE(breaker.admits(kStart + 6s));
  EXPECT_EQ(breaker.state_at(kStart + 6s), BreakerState::closed);
}

// Case B103: a probe that ends oddly is given back, and the open time doubles up to its cap.
TEST(BreakerTest, ProbesDoNotLeakAndOpenTimeDoubles) {
  Breaker breaker({1, 10s, 30s});
  breaker.failed(kStart, false);
  SteadyTime now = kStart + 10s;
  for (const Duration open : {Duration(20s), Duration(30s), Duration(30s)}) {
    ASSERT_TRUE(breaker.admits(now));
    breaker.probe_started();
    breaker.failed(now, true);
    EXPECT_EQ(breaker.closed_until(), now + open);
    now += open;
  }
  breaker.probe_started();
  breaker.released();
  EXPECT_TRUE(breaker.admits(now));
  EXPECT_EQ(breaker.state_at(now), BreakerState::half_open);
}

TEST(BreakerTest, LateFailuresOfEarlierTriesDoNotProlongIt) {
  Breaker breaker({1, 5s, 1min});
  breaker.failed(kStart, false);
  breaker.failed(kStart + 4s, false);
  EXPECT_EQ(breaker.closed_until(), kStart + 5s);
}

TEST(BreakerTest, ALateFailureIsNotTheProbes) {
  Breaker breaker({1, 5s, 1min});
  breaker.failed(kStart, false);
  breaker.probe_started();
  breaker.failed(kStart + 6s, false);
  EXPECT_FALSE(breaker.admits(kStart + 6s));  // the probe is still out
  breaker.succeeded();
  EXPECT_TRUE(breaker.admits(kStart + 6s));
}

// A request that was on its way when another got the answer 429 succeeds: the endpoint has still asked for quiet.
TEST(BreakerTest, ASuccessDoesNotShortenWhatTheFarSideAskedFor) {
  Breaker breaker({5, 5s, 1min});
  breaker.wait_until(kStart + 60s);
  breaker.succeeded();
  EXPECT_FALSE(breaker.admits(kStart + 1s));
  EXPECT_TRUE(breaker.admits(kStart + 60s));
}

TEST(BreakerTest, WaitsAsLongAsTheFarSideSays) {
  Breaker breaker({5, 5s, 1min});
  breaker.wait_until(kStart + 7s);
  EXPECT_FALSE(breaker.admits(kStart + 6s));
  EXPECT_TRUE(breaker.admits(kStart + 7s));
  EXPECT_EQ(breaker.state_at(kStart + 7s), BreakerState::closed);
}

Record order(std::string type) {
  Record record;
  record.id = "m-1";
  record.aggregate_type = "order";
  record.aggregate_id = "7";
  record.type = std::move(type);
  return record;
}

TEST(RouterTest, FirstMatchPerSinkCounts) {
  const Router router({{"a", "order", "Paid", "first", "", {}, false},
                       {"a", {}, {}, "second", "", {}, false},
                       {"b", "invoice", {}, "third", "", {}, false}});
  EXPECT_EQ(router.match("a", order("Paid"))->address, "first");
  EXPECT_EQ(router.match("a", order("Shipped"))->address, "second");
  EXPECT_EQ(router.match("b", order("Paid")), nullptr);
}

TEST(RouterTest, SinkNoneIsAMatchThatSendsNowhere) {
  const Router router({{"none", "order", {}, "", "", {}, false}});
  EXPECT_TRUE(router.matches_any(order("Paid")));
  EXPECT_FALSE(Router({}).matches_any(order("Paid")));
}

TEST(RouterTest, KnowsWhichSinkHasOneDestination) {
  const Router router({{"a", {}, {}, "x", "", {}, false},
                       {"a", "order", {}, "x", "", {}, false},
                       {"b", {}, {}, "x", "", {}, false},
                       {"b", "order", {}, "y", "", {}, false},
                       {"c", {}, {}, "{type}", "", {}, false}});
  EXPECT_TRUE(router.single_destination("a", true));
  EXPECT_FALSE(router.single_destination("b", true));
  EXPECT_FALSE(router.single_destination("c", true));
  EXPECT_TRUE(router.single_destination("a", false));
  EXPECT_FALSE(router.single_destination("b", false));
  EXPECT_TRUE(router.single_destination("c", false));
}

TEST(ExpandTest, FillsFields) {
  Route route;
  const auto expanded = [&](const std::string& address) {
    route.address = address;
    return expand(route, order("Paid"));
  };
  EXPECT_EQ(expanded("outbox.event.{aggregate_type}"), "outbox.event.order");
  EXPECT_EQ(expanded("{type}/{aggregate_id}/{id}"), "Paid/7/m-1");
  EXPECT_EQ(expanded("{colour}"), std::nullopt);
  EXPECT_EQ(expanded("{type"), std::nullopt);
  route.escape = [](std::string_view value) { return "<" + std::string(value) + ">"; };
  EXPECT_EQ(expanded("/{type}/{id}"), "/<Paid>/<m-1>");
}

}  // namespace
}  // namespace outbox
