#include "admin/relay_metrics.h"

#include <gtest/gtest.h>

namespace outbox {
namespace {

const std::vector<std::string> kSinks{"events", "audit"};

class RelayMetricsTest : public testing::Test {
 protected:
  bool has(const std::string& line) const {
    return ("\n" + metrics.text()).find("\n" + line + "\n") != std::string::npos;
  }

  Metrics metrics{metric::kAll};
  RelayMetrics relay{metrics, kSinks};
};

// Every metric that is declared comes out with a value once a relay has worked: none is only a name.
TEST_F(RelayMetricsTest, EveryDeclaredMetricIsExported) {
  relay.confirmed("events", 20ms, 5ms);
  relay.attempted("events", Verdict::delivered);
  relay.duplicate("events");
  relay.dead("events", "too_large");
  relay.polled(3ms);
  relay.breaker_changed("events", BreakerState::open);
  relay.refresh_leases(64, 0);
  relay.forwarded("events", false);
  relay.unforwarded(1);
  relay.refresh(std::vector<FeedView>(1));
  relay.refresh(std::vector<RelayMetrics::FeedStatus>(1));
  const std::string text = metrics.text();
  for (const MetricInfo& info : metric::kAll) {
    const std::string name(info.name);
    EXPECT_NE(text.find("# HELP " + name + " "), std::string::npos) << name;
    const std::string sample = "\n" + name + (info.kind == MetricKind::histogram ? "_count" : "");
    EXPECT_TRUE(text.find(sample + "{") != std::string::npos || text.find(sample + " ") != std::string::npos) << name;
    EXPECT_TRUE(name.starts_with("outbox_"));
    EXPECT_EQ(name.ends_with("_total"), info.kind == MetricKind::counter) << name;
  }
}

TEST_F(RelayMetricsTest, LostSharesAreCountedOnce) {
  relay.refresh_leases(64, 1);
  relay.refresh_leases(32, 3);
  EXPECT_NE(metrics.text().find("\noutbox_lanes_owned 32\n"), std::string::npos);
  EXPECT_NE(metrics.text().find("\noutbox_lease_lost_total 3\n"), std::string::npos);
}

TEST_F(RelayMetricsTest, SeriesOfASinkAreThereFromTheStart) {
  EXPECT_TRUE(has("outbox_attempts_total{outcome=\"unknown\",sink=\"audit\"} 0")) << metrics.text();
  EXPECT_TRUE(has("outbox_delivery_seconds_count{sink=\"audit\"} 0"));
}

TEST_F(RelayMetricsTest, StatesComeFromTheViews) {
  FeedView feed;
  feed.last_poll = Time(1'700'000'000s);
  feed.sinks.resize(1);
  feed.sinks[0].name = "events";
  feed.sinks[0].breaker = BreakerState::half_open;
  feed.sinks[0].in_flight = 12;
  FeedView behind;
  behind.last_poll = Time(1'600'000'000s);
  relay.refresh(std::vector{feed, behind});
  EXPECT_TRUE(has("outbox_breaker_state{sink=\"events\",state=\"half_open\"} 1"));
  EXPECT_TRUE(has("outbox_breaker_state{sink=\"events\",state=\"closed\"} 0"));
  EXPECT_TRUE(has("outbox_in_flight{sink=\"events\"} 12"));
  EXPECT_TRUE(has("outbox_last_poll_timestamp_seconds 1600000000"));
}

// The sink of dead letters: the forwarder's view, which tells nothing of reading, and a pause in the store.
TEST_F(RelayMetricsTest, ASinkThatNoFeedHasIsMeasuredWhileItIsThere) {
  FeedView feed;
  feed.last_poll = Time(1'700'000'000s);
  FeedView forwarding;
  forwarding.last_poll = kNever;
  forwarding.sinks.resize(1);
  forwarding.sinks[0].name = "audit";
  forwarding.sinks[0].breaker = BreakerState::open;
  forwarding.sinks[0].held_destinations = 2;
  relay.refresh(std::vector{feed, forwarding});
  EXPECT_TRUE(has("outbox_breaker_state{sink=\"audit\",state=\"open\"} 1")) << metrics.text();
  EXPECT_TRUE(has("outbox_held_destinations{sink=\"audit\"} 2"));
  EXPECT_TRUE(has("outbox_last_poll_timestamp_seconds 1700000000"));
  relay.refresh(std::vector{feed});
  EXPECT_TRUE(has("outbox_breaker_state{sink=\"audit\",state=\"open\"} 0")) << "another relay forwards now";

  RelayMetrics::FeedStatus events{{"events", {"events"}, true, false}, {}};
  events.status.sinks["audit"].pause = SinkPause{"audit", "ana", "", Time{}};
  relay.refresh(std::vector{events});
  EXPECT_TRUE(has("outbox_paused{sink=\"audit\"} 1"));
  EXPECT_TRUE(has("outbox_paused{sink=\"events\"} 0"));
}

TEST_F(RelayMetricsTest, CountsComeFromTheStorePerFeed) {
  RelayMetrics::FeedStatus events{{"events", {"events"}, true, false}, {}};
  events.status.unsent = 7;
  events.status.oldest_unsent = Time(1'700'000'000s);
  events.status.sinks["events"].parked.waiting = 3;
  events.status.sinks["events"].oldest_waiting = Time(1'600'000'000s);
  RelayMetrics::FeedStatus audit{{"audit", {"audit"}, true, false}, {}};
  relay.refresh(std::vector{events, audit});
  EXPECT_TRUE(has("outbox_unsent_rows 7"));
  EXPECT_TRUE(has("outbox_deliveries{sink=\"events\",state=\"waiting\"} 3"));
  EXPECT_TRUE(has("outbox_oldest_unsent_timestamp_seconds 1700000000"));
  EXPECT_TRUE(has("outbox_oldest_due_timestamp_seconds{sink=\"events\"} 1600000000"));
  EXPECT_TRUE(has("outbox_oldest_due_timestamp_seconds{sink=\"audit\"} 0"));
}

TEST_F(RelayMetricsTest, DeadLettersHaveTheirOwners) {
  std::vector<RelayMetrics::FeedStatus> feeds(1);
  feeds[0].feed.sinks = {"events"};
  SinkStatus& events = feeds[0].status.sinks["events"];
  events.dead_by_owner = {{"billing", 3}, {"", 1}};
  events.pause = SinkPause{"events", "ana", "", Time{}};
  relay.refresh(feeds);
  EXPECT_TRUE(has("outbox_dead_letters{owner=\"billing\",sink=\"events\"} 3")) << metrics.text();
  EXPECT_TRUE(has("outbox_dead_letters{owner=\"\",sink=\"events\"} 1"));
  EXPECT_TRUE(has("outbox_paused{sink=\"events\"} 1"));
  events = {};
  relay.refresh(feeds);
  EXPECT_TRUE(has("outbox_dead_letters{owner=\"billing\",sink=\"events\"} 0"));
  EXPECT_TRUE(has("outbox_paused{sink=\"events\"} 0"));
}

}  // namespace
}  // namespace outbox
