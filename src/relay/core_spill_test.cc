// What is parked for want of a destination: spilling, and the cap. Whole lives under faults: tests/simulation.
#include "relay/core_fixture.h"

namespace outbox {
namespace {

// Two sinks of a table that is marked: they share one source.
class SharedFeedTest : public CoreTest {
 protected:
  SharedFeedTest() {
    options.feed = {"*", {"a", "b"}, false, true};
    options.source_repeats = true;
    options.sinks = {{"a", {}, {1s, 30s, 3}, {1, 5s, 1min}, 100}, {"b", {}, {1s, 30s, 3}, {1, 5s, 1min}, 100}};
    options.page_records = 4;
    options.window_records = 8;
    routes = {{"a", {}, {}, "topic", "", {}, false}, {"b", {}, {}, "topic", "", {}, false}};
  }

  // Everything that b has in flight arrives, everything that a has comes back; until nothing more happens.
  void a_is_down() {
    for (bool moved = true; moved;) {
      moved = false;
      for (auto [sink, outcome] : {std::pair{0, busy(Scope::sink, "brokers_down", "")}, std::pair{1, delivered("")}}) {
        while (!sinks_in_flight[sink].empty()) {
          const Publication publication = sinks_in_flight[sink].front();
          sinks_in_flight[sink].pop_front();
          if (sink == 1) arrived.push_back(publication.record->id);
          core->completed(static_cast<std::size_t>(sink), {{publication.id, outcome}}, clocks());
          step();
          moved = true;
        }
      }
    }
  }

  // A page every 200 ms, of two records of four keys that come again and again.
  void write_and_pass(int pages) {
    for (int i = 0; i < pages; ++i) {
      row("k" + std::to_string(2 * i % 4)), row("k" + std::to_string((2 * i + 1) % 4));
      pass(200ms);
      a_is_down();
    }
  }

  std::vector<std::string> arrived;  // at b
};

TEST_F(SharedFeedTest, ASinkThatIsDownSpillsAndTheOtherGoesOn) {
  start();
  write_and_pass(20);
  EXPECT_EQ(arrived.size(), 40u);
  const auto spilled = parks();
  EXPECT_GE(spilled.size(), 30u);
  for (const Park& park : spilled) {
    EXPECT_EQ(park.sink, "a");
    EXPECT_EQ(park.attempts, 0);
    EXPECT_FALSE(park.charged) << "all of them count towards the cap";
  }
  std::map<std::string, std::int64_t> last;
  for (const Park& park : spilled) {
    EXPECT_GT(park.record->seq, last[park.record->key]) << "in the order of their key";
    last[park.record->key] = park.record->seq;
  }
  EXPECT_EQ(core->view()[0].parked.uncharged, static_cast<std::int64_t>(spilled.size()));
}

TEST_F(SharedFeedTest, APausedSinkSpillsToo) {
  start();
  core->pause(0, true, clocks());
  write_and_pass(20);
  EXPECT_EQ(arrived.size(), 40u);
  ASSERT_FALSE(parks().empty());
  EXPECT_EQ(parks()[0].reason, "paused");
  EXPECT_EQ(core->view()[0].held_because, "paused");
}

TEST_F(SharedFeedTest, AtTheCapReadingStopsAndBothSay) {
  options.sinks[0].parked_max = 10;
  start();
  write_and_pass(20);
  const auto most = 10 + options.window_records + options.page_records;
  EXPECT_LE(parks().size(), most);
  EXPECT_LT(arrived.size(), 40u);
  EXPECT_TRUE(core->view()[0].at_cap);
  EXPECT_FALSE(core->view()[1].at_cap);
  EXPECT_EQ(core->view()[1].held_because, "the parked deliveries of sink a are at their cap");
}

TEST_F(CoreTest, WhatStandsBehindAFailedMessageDoesNotCountTowardsTheCap) {
  options.sinks[0].parked_max = 3;
  for (int i = 0; i < 10; ++i) row("a");
  start();
  answer(busy(Scope::message, "conflict", ""));
  EXPECT_EQ(parks().size(), 10u);
  EXPECT_FALSE(core->view()[0].at_cap);
  row("b");
  pass(300ms);
  EXPECT_EQ(take_first(), "m-11");
}

TEST_F(CoreTest, NothingIsReadBeforeItIsKnownWhatIsParked) {
  counts.uncharged = 100;
  counts.waiting = 100;
  row("a");
  start();
  pass(2s);
  EXPECT_TRUE(core->view()[0].at_cap);
  EXPECT_EQ(rows.size(), 1u);
  EXPECT_TRUE(in_flight.empty());
}

// At the cap with nothing but messages that always give a 500, a record is read after each probe that failed: another
// key alone can tell that the destination is well, and then they are charged.
TEST_F(CoreTest, AtTheCapAProbeThatFailedReadsOneRecord) {
  routes = {{"events", "order", {}, "{aggregate_id}", "", {}, false}};
  options.sinks[0].retry = {10ms, 10ms, 3};
  options.sinks[0].breaker = {1, 1s, 1s};
  options.sinks[0].parked_max = 1;
  const RecordPtr ill = row("ill");
  start();
  answer(unknown("http_500", ""));
  pass(100ms);
  ASSERT_EQ(parks().size(), 1u);
  EXPECT_TRUE(core->view()[0].at_cap);
  row("other");
  runs = {{"order:ill", {{11, ill, 0, 0}}, false}};
  pass(3s);
  EXPECT_EQ(rows.size(), 1u) << "it is not read";
  ASSERT_EQ(take_first(), ill->id) << "the probe";
  answer(unknown("http_500", ""));
  pass(300ms);
  EXPECT_EQ(fetched_max, 1u);
  EXPECT_EQ(take_first(), "m-2");
}

}  // namespace
}  // namespace outbox
