// The core's rules, one at a time. Whole lives under faults: tests/simulation.
#include "relay/core.h"

#include <gtest/gtest.h>

#include <deque>
#include <map>

namespace outbox {
namespace {

constexpr Time kStart{Duration(1'000'000'000)};

// A source and a store that answer at once, and a sink whose outcomes the test gives.
class CoreTest : public ::testing::Test {
 protected:
  CoreTest() {
    options.feed = {"events", {"events"}, true, true};
    options.sinks = {{"events", {}, {1s, 30s, 3}, {5, 5s, 1min}, 100}};
    options.settle_every = Duration(0);
    routes = {{"events", {}, {}, "topic", "billing", {}, false}};
  }

  void start() {
    core = std::make_unique<Core>(options, std::make_shared<Router>(routes), 1);
    core->started({}, now);
    step();
  }

  // Answers the core's commands until it asks for nothing but time.
  void step() {
    for (Commands commands = core->take();; commands = core->take()) {
      bool moved = false;
      finished = commands.finished;
      wake_at = commands.wake_at;
      restarts += commands.restart ? 1 : 0;
      reopens += static_cast<int>(commands.reopen.size());
      for (auto& each : commands.publish) {
        auto& to = options.sinks.size() == 1 ? in_flight : sinks_in_flight[static_cast<int>(each.sink)];
        for (auto& publication : each.batch) to.push_back(std::move(publication));
      }
      if (commands.fetch) {
        moved = true;
        if (!rows.empty()) fetched_max = commands.fetch->max_records;
        core->fetched(next_page(), now);
      }
      if (commands.settle) {
        moved = true;
        const Result<void> result = settle_result;
        if (result) settled.push_back(*commands.settle);
        ++settles;
        core->settled(result, now);
      }
      if (commands.facts) {
        moved = true;
        ++questions;
        core->facts(facts, now);
      }
      if (commands.due) {
        moved = true;
        core->due(std::exchange(runs, {}), Store::Parking{stored_counts(commands.due->sink), kNever}, now);
      }
      if (!moved) return;
    }
  }

  // What the test says, and what was parked since.
  ParkedCounts stored_counts(std::size_t sink) const {
    ParkedCounts sum = counts;
    for (const Park& park : parks()) {
      if (park.sink != options.sinks[sink].name || park.state != DeliveryState::waiting) continue;
      ++sum.waiting;
      if (!park.charged && !park.not_due) ++sum.uncharged;
    }
    return sum;
  }

  Page next_page() {
    Page page;
    page.window = {"1:1:", "2:2:"};
    page.records = std::exchange(rows, {});
    page.database_now = now;
    return page;
  }

  RecordPtr row(const std::string& key, std::optional<Time> not_before = {}) {
    auto record = std::make_shared<Record>();
    record->seq = ++seq;
    record->id = "m-" + std::to_string(seq);
    record->aggregate_type = "order";
    record->aggregate_id = key;
    record->key = make_key("order", key);
    record->payload = "{}";
    record->not_before = not_before;
    rows.push_back(record);
    return record;
  }

  void pass(Duration duration) {
    const Time until = now + duration;
    while (wake_at < until) {
      now = std::max(now, wake_at);
      core->tick(now);
      step();
      if (wake_at <= now) now += Duration(1ms);
    }
    now = until;
    core->tick(now);
    step();
  }

  std::string take_first() {
    EXPECT_FALSE(in_flight.empty());
    return in_flight.empty() ? "" : in_flight.front().record->id;
  }

  void answer(Outcome outcome) {
    ASSERT_FALSE(in_flight.empty());
    const DeliveryId id = in_flight.front().id;
    in_flight.pop_front();
    core->completed(0, {{id, std::move(outcome)}}, now);
    step();
  }

  std::vector<Park> parks() const {
    std::vector<Park> all;
    for (const auto& batch : settled) all.insert(all.end(), batch.parks.begin(), batch.parks.end());
    return all;
  }

  CoreOptions options;
  std::vector<Route> routes;
  std::unique_ptr<Core> core;
  Time now = kStart;
  Time wake_at = kNever;
  bool finished = false;
  int restarts = 0;
  int reopens = 0;
  int settles = 0;
  int questions = 0;
  std::int64_t seq = 0;
  std::vector<RecordPtr> rows;
  std::deque<Publication> in_flight;
  std::map<int, std::deque<Publication>> sinks_in_flight;  // where there are several
  std::size_t fetched_max = 0;                             // of the last fetch that brought something
  std::vector<SettleBatch> settled;
  Result<void> settle_result;
  PageFacts facts;
  ParkedCounts counts;
  std::vector<ParkedRun> runs;
};

TEST_F(CoreTest, NothingIsSettledBeforeItsConfirmation) {
  row("a");
  start();
  ASSERT_EQ(in_flight.size(), 1u);
  EXPECT_TRUE(settled.empty());
  answer(delivered("ok"));
  ASSERT_EQ(settled.size(), 1u);
  EXPECT_EQ(settled[0].position->seq, 1);
}

TEST_F(CoreTest, OneMessageOfAKeyInFlightManyKeysAtOnce) {
  row("a"), row("a"), row("b");
  start();
  ASSERT_EQ(in_flight.size(), 2u);
  EXPECT_EQ(in_flight[0].record->id, "m-1");
  EXPECT_EQ(in_flight[1].record->id, "m-3");
  answer(delivered(""));
  EXPECT_EQ(in_flight.back().record->id, "m-2");
}

TEST_F(CoreTest, ASinkThatKeepsOrderGetsAKeyPipelined) {
  options.sinks[0].capabilities.pipelines_key = true;
  row("a"), row("a"), row("a");
  start();
  EXPECT_EQ(in_flight.size(), 3u);
}

TEST_F(CoreTest, RejectedIsDeadAtOnceAndItsKeyGoesOn) {
  row("a"), row("a");
  start();
  answer(rejected("http_422", "no such customer"));
  ASSERT_EQ(parks().size(), 1u);
  EXPECT_EQ(parks()[0].state, DeliveryState::dead);
  EXPECT_EQ(parks()[0].attempts, 1);
  EXPECT_EQ(parks()[0].reason, "http_422");
  EXPECT_EQ(parks()[0].owner, "billing");
  EXPECT_EQ(take_first(), "m-2");
}

TEST_F(CoreTest, ADeadLetterThatHoldsItsKeyParksTheRest) {
  routes[0].dead_letter_holds_key = true;
  row("a"), row("a"), row("b");
  start();
  answer(rejected("http_422", ""));
  ASSERT_EQ(parks().size(), 2u);
  EXPECT_TRUE(parks()[0].holds_key);
  EXPECT_EQ(parks()[1].record->id, "m-2");
  EXPECT_EQ(parks()[1].reason, "behind_key");
  EXPECT_EQ(take_first(), "m-3");
}

// Case B081: a message that waits for another try holds back its own key and nobody else's.
TEST_F(CoreTest, FollowersOfAWaitingMessageFollowItInOrder) {
  row("a"), row("a"), row("b"), row("a");
  start();
  answer(busy(Scope::message, "conflict", ""));
  answer(delivered(""));
  const auto all = parks();
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].record->id, "m-1");
  EXPECT_EQ(all[0].attempts, 1);
  EXPECT_GT(all[0].next_attempt, now);
  EXPECT_EQ(all[1].record->id, "m-2");
  EXPECT_EQ(all[2].record->id, "m-4");
  EXPECT_TRUE(in_flight.empty());
}

TEST_F(CoreTest, RetriesWaitForTheirBudgetAndFirstTriesDoNot) {
  options.sinks[0].budget = {0, 1};
  options.sinks[0].retry = {10ms, 10ms, 8};
  runs = {{"order:a", {{11, row("a"), 1, 0}, {12, row("a"), 0, 0}}, false},
          {"order:b", {{13, row("b"), 1, 0}}, false},
          {"order:c", {{14, row("c"), 0, 0}}, false}};
  rows.clear();
  start();
  ASSERT_EQ(in_flight.size(), 2u) << "one retry, and what was not tried before";
  EXPECT_EQ(in_flight[0].record->id, "m-1");
  EXPECT_EQ(in_flight[1].record->id, "m-4");
  row("d");
  pass(500ms);
  ASSERT_EQ(in_flight.size(), 3u);
  EXPECT_EQ(in_flight[2].record->id, "m-5");
  answer(delivered(""));
  ASSERT_EQ(in_flight.size(), 3u) << "what stands behind a retry that has gone is a first try";
  EXPECT_EQ(in_flight[2].record->id, "m-2");
  pass(600ms);
  ASSERT_EQ(in_flight.size(), 4u);
  EXPECT_EQ(in_flight[3].record->id, "m-3");
  EXPECT_EQ(in_flight[3].attempt, 2) << "it waited uncharged";
}

TEST_F(CoreTest, WhatFailsForTooLongIsDead) {
  options.sinks[0].retry = {1s, 30s, 8, 1min};
  runs = {{"order:a", {{11, row("a"), 1, 0, now - 50s}}, false}};
  rows.clear();
  start();
  answer(busy(Scope::message, "conflict", ""));
  EXPECT_EQ(settled.back().updates[0].kind, ParkedUpdate::Kind::waiting);
  runs = {{"order:a", {{11, std::make_shared<Record>(*row("a")), 2, 0, now - 50s}}, false}};
  rows.clear();
  pass(20s);
  answer(busy(Scope::message, "conflict", "still in work"));
  EXPECT_EQ(settled.back().updates[0].kind, ParkedUpdate::Kind::dead);
  EXPECT_EQ(settled.back().updates[0].reason, "too_old");
  EXPECT_NE(settled.back().updates[0].error.find("still in work"), std::string::npos);
}

// An outage kills nobody: only a failure of its own is judged by its age, and counts from the first such failure on.
TEST_F(CoreTest, AnOutageMakesNobodyTooOld) {
  options.sinks[0].retry.age = 1s;
  row("a");
  start();
  for (int i = 0; i < 20; ++i) {
    if (!in_flight.empty()) answer(busy(Scope::sink, "brokers_down", ""));
    pass(10s);
  }
  EXPECT_TRUE(parks().empty());
  ASSERT_FALSE(in_flight.empty());
  answer(busy(Scope::message, "conflict", ""));
  ASSERT_EQ(parks().size(), 1u);
  EXPECT_EQ(parks()[0].state, DeliveryState::waiting);
}

TEST_F(CoreTest, ARouteHasAnAgeOfItsOwn) {
  routes[0].retry = RetryPolicy{1s, 30s, 8, Duration(10s)};
  runs = {{"order:a", {{11, row("a"), 1, 0, now - 50s}}, false}};
  rows.clear();
  start();
  answer(busy(Scope::message, "conflict", ""));
  EXPECT_EQ(settled.back().updates[0].reason, "too_old");
}

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
          core->completed(static_cast<std::size_t>(sink), {{publication.id, outcome}}, now);
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
  core->pause(0, true, now);
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

TEST_F(CoreTest, AnOutageUsesNobodysAttempts) {
  for (int i = 0; i < 20; ++i) row("k" + std::to_string(i));
  start();
  for (int i = 0; i < 60; ++i) {
    if (!in_flight.empty()) answer(unknown("timeout", "no answer in 10 s"));
    pass(100ms);
  }
  EXPECT_TRUE(parks().empty());
  EXPECT_NE(core->view()[0].breaker, BreakerState::closed);
  EXPECT_LE(in_flight.size(), 1u);
}

// Design 3.6: a poison message that always gives a 500 dies of it, as soon as others show that the destination is well.
TEST_F(CoreTest, A500IsTheMessagesOwnIfOthersSucceed) {
  options.sinks[0].retry.attempts = 2;
  const RecordPtr poison = row("a");
  start();
  answer(unknown("http_500", ""));
  EXPECT_TRUE(parks().empty());
  row("b");
  pass(250ms);
  while (!in_flight.empty() && take_first() != poison->id) answer(delivered(""));
  pass(2s);
  ASSERT_EQ(take_first(), poison->id);
  answer(unknown("http_500", ""));
  ASSERT_EQ(parks().size(), 1u);
  EXPECT_EQ(parks()[0].attempts, 1);
  EXPECT_EQ(parks()[0].state, DeliveryState::waiting);
}

TEST_F(CoreTest, AProbeTakesAnotherKeyThanTheLastFailedProbe) {
  options.sinks[0].breaker = {1, 5s, 1min};
  row("a"), row("b");
  start();
  answer(unknown("http_500", ""));
  answer(unknown("http_500", ""));
  pass(6s);
  ASSERT_EQ(in_flight.size(), 1u);
  const std::string first = take_first();
  answer(unknown("http_500", ""));
  pass(11s);
  ASSERT_EQ(in_flight.size(), 1u);
  EXPECT_NE(take_first(), first);
}

TEST_F(CoreTest, AClosedDestinationHoldsNobodyElse) {
  routes = {{"events", "order", {}, "{aggregate_id}", "", {}, false}};
  options.sinks[0].breaker = {1, 5s, 1min};
  row("bad"), row("good"), row("bad");
  start();
  answer(busy(Scope::destination, "unknown_topic", ""));
  ASSERT_EQ(take_first(), "m-2");
  answer(delivered(""));
  pass(2s);
  const auto all = parks();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_FALSE(all[0].charged);
  EXPECT_EQ(all[0].reason, "destination_closed");
  EXPECT_EQ(all[0].attempts, 0);
  EXPECT_EQ(all[1].record->id, "m-3");
}

TEST_F(CoreTest, WhatIsNotDueBlocksNeitherPositionNorKey) {
  row("a", now + 1h);
  row("a");
  start();
  ASSERT_EQ(parks().size(), 1u);
  EXPECT_TRUE(parks()[0].not_due);
  EXPECT_EQ(take_first(), "m-2");
  answer(delivered(""));
  EXPECT_EQ(settled.back().position->seq, 2);
}

TEST_F(CoreTest, AKeyThatWaitsInTheStoreIsParkedBehind) {
  counts.concerns_stream = true;
  facts.waiting_keys = {"order:a"};
  facts.known_messages = {"m-3"};
  row("a"), row("b"), row("c");
  start();
  EXPECT_EQ(questions, 1);
  ASSERT_EQ(parks().size(), 1u);
  EXPECT_EQ(parks()[0].reason, "behind_key");
  ASSERT_EQ(in_flight.size(), 1u);
  EXPECT_EQ(take_first(), "m-2");
}

TEST_F(CoreTest, AReleasedRunGoesOutInOrderBeforeTheStream) {
  const RecordPtr head = row("a");
  const RecordPtr second = row("a");
  rows.clear();
  runs = {{"order:a", {{11, head, 1, 0}, {12, second, 0, 0}}, false}};
  start();
  EXPECT_EQ(take_first(), head->id);
  row("a");
  pass(300ms);
  answer(delivered(""));
  ASSERT_EQ(take_first(), second->id);
  answer(delivered(""));
  std::vector<std::int64_t> done;
  for (const auto& batch : settled) {
    for (const auto& update : batch.updates) done.push_back(update.row);
  }
  EXPECT_EQ(done, (std::vector<std::int64_t>{11, 12}));
  ASSERT_EQ(parks().size(), 1u) << "what came from the stream meanwhile stands behind the run";
}

// Case B047: what was confirmed is not published again because the book-keeping fails.
TEST_F(CoreTest, AFailingSettleIsRepeatedAlone) {
  settle_result = Failure{FailureKind::invalid, "trigger raises"};
  row("a");
  start();
  answer(delivered(""));
  pass(3s);
  EXPECT_GT(settles, 2);
  EXPECT_TRUE(in_flight.empty());
  settle_result = Result<void>();
  pass(10s);
  EXPECT_EQ(settled.back().position->seq, 1);
}

TEST_F(CoreTest, ALostDatabaseMeansToStartFromTheStoredPosition) {
  settle_result = Failure{FailureKind::unavailable, "connection lost"};
  row("a");
  start();
  answer(delivered(""));
  EXPECT_EQ(restarts, 1);
  settle_result = Result<void>();
  seq = 0;
  row("a");
  core->started({}, now);
  step();
  EXPECT_EQ(take_first(), "m-1");
}

TEST_F(CoreTest, AFencedRelaySettlesNothingAndEnds) {
  settle_result = Failure{FailureKind::fenced, ""};
  row("a");
  start();
  answer(delivered(""));
  EXPECT_TRUE(core->fenced());
  EXPECT_TRUE(finished);
}

TEST_F(CoreTest, ADeadClientIsRebuiltAndEverythingGoesOutAgainInOrder) {
  options.sinks[0].capabilities.pipelines_key = true;
  row("a"), row("a"), row("a");
  start();
  for (int i = 0; i < 3; ++i) answer(client_dead("fatal", ""));
  EXPECT_TRUE(in_flight.empty());
  core->reopened(0, {}, now);
  step();
  for (const char* id : {"m-1", "m-2", "m-3"}) {
    ASSERT_EQ(in_flight.size(), 1u) << "one by one until the culprit is found";
    EXPECT_EQ(take_first(), id);
    answer(delivered(""));
  }
  EXPECT_TRUE(parks().empty());
}

TEST_F(CoreTest, StopWaitsForWhatIsInFlightAndSettlesIt) {
  row("a"), row("a");
  start();
  core->stop(now);
  step();
  EXPECT_FALSE(finished);
  answer(delivered(""));
  EXPECT_TRUE(finished);
  EXPECT_TRUE(in_flight.empty());
  EXPECT_EQ(settled.back().position->seq, 1);
}

TEST_F(CoreTest, DrainEndsWhenNothingIsLeft) {
  row("a");
  start();
  core->drain(now);
  step();
  EXPECT_FALSE(finished);
  answer(delivered(""));
  pass(2s);
  EXPECT_TRUE(finished);
}

TEST_F(CoreTest, DrainGivesUpASinkThatIsDown) {
  options.sinks[0].breaker = {1, 5s, 1min};
  row("a");
  start();
  core->drain(now);
  step();
  answer(busy(Scope::sink, "brokers_down", ""));
  pass(300ms);
  EXPECT_TRUE(finished);
  pass(6s);
  EXPECT_TRUE(finished) << "although a probe is in flight that may never come back";
}

TEST_F(CoreTest, DrainDoesNotAwaitWhatADeadLetterHolds) {
  counts.waiting = 1;
  counts.dead = 1;
  start();
  core->drain(now);
  pass(1s);
  EXPECT_TRUE(finished);
}

TEST_F(CoreTest, AFarSideThatAsksToWaitIsSaidToHold) {
  row("a");
  start();
  answer(busy(Scope::destination, "http_429", "status 429", Duration(60s)));
  EXPECT_EQ(core->view()[0].held_because, "the far side asked to wait: http_429: status 429");
  EXPECT_TRUE(in_flight.empty());
}

TEST_F(CoreTest, WhatNoRouteMatchesIsDead) {
  routes[0].aggregate_type = "invoice";
  row("a");
  start();
  ASSERT_EQ(parks().size(), 1u);
  EXPECT_EQ(parks()[0].reason, "no_route");
  EXPECT_EQ(settled.back().position->seq, 1);
}

TEST_F(CoreTest, TheWindowIsBounded) {
  options.page_records = 10;
  options.window_records = 20;
  start();
  for (int i = 0; i < 50; ++i) {
    for (int j = 0; j < 10; ++j) row("k" + std::to_string(i * 10 + j));
    pass(1s);
  }
  EXPECT_LE(core->view()[0].queued, 500u);
  EXPECT_LE(in_flight.size(), 500u);
}

TEST_F(CoreTest, ALapseTakesBackWhatTheClientHoldsAndPublishesNothing) {
  row("a"), row("a");
  start();
  row("b");
  core->lapsed(now);
  step();
  EXPECT_EQ(reopens, 1);
  EXPECT_EQ(restarts, 0) << "without a lease there is nothing to take over";
  answer(client_dead("reopened", ""));
  core->reopened(0, {}, now);
  pass(5s);
  EXPECT_TRUE(in_flight.empty());
  EXPECT_TRUE(settled.empty());
  EXPECT_EQ(core->view()[0].held_because, "the lease has run out");
}

TEST_F(CoreTest, ALapseWithNothingInFlightLeavesTheClientAlone) {
  start();
  core->lapsed(now);
  step();
  EXPECT_EQ(reopens, 0);
}

TEST_F(CoreTest, WhatIsConfirmedAfterALapseIsNotSettled) {
  row("a");
  start();
  core->lapsed(now);
  step();
  answer(delivered(""));
  pass(1s);
  EXPECT_EQ(settles, 0);
}

TEST_F(CoreTest, ATakeOverThatIsAnsweredDuringALapseChangesNothing) {
  start();
  core->lapsed(now);
  row("a");
  core->started({}, now);
  step();
  pass(1s);
  EXPECT_TRUE(in_flight.empty());
}

TEST_F(CoreTest, TheNextLeaseAsksForATakeOverAndThenItGoesOn) {
  start();
  core->lapsed(now);
  core->lapsed(now);
  core->leased(now);
  step();
  EXPECT_EQ(restarts, 1);
  row("a");
  pass(1s);
  EXPECT_TRUE(in_flight.empty()) << "before it has the share again";
  core->started({}, now);
  step();
  EXPECT_EQ(take_first(), "m-1");
  core->leased(now);
  step();
  EXPECT_EQ(restarts, 1);
}

TEST_F(CoreTest, ALapseDuringTheFirstTakeOverIsMadeUpForToo) {
  core = std::make_unique<Core>(options, std::make_shared<Router>(routes), 1);
  core->lapsed(now);
  core->started({}, now);
  core->leased(now);
  step();
  EXPECT_EQ(restarts, 1);
}

TEST_F(CoreTest, WhoStopsTakesBackWhatTheClientHoldsAtALapse) {
  row("a");
  start();
  core->stop(now);
  step();
  core->lapsed(now);
  step();
  EXPECT_EQ(reopens, 1);
  EXPECT_FALSE(finished);
  answer(client_dead("reopened", ""));
  EXPECT_TRUE(finished);
}

TEST_F(CoreTest, WhoStopsRebuildsADeadClientForWhatHasNotComeBack) {
  row("a"), row("b");
  start();
  core->stop(now);
  step();
  answer(client_dead("fatal", ""));
  EXPECT_EQ(reopens, 1);
  EXPECT_FALSE(finished);
  answer(client_dead("fatal", ""));
  EXPECT_TRUE(finished);
}

TEST_F(CoreTest, APausedSinkIsNotWokenForWhatWaits) {
  row("a");
  start();
  core->pause(0, true, now);
  answer(busy(Scope::sink, "brokers_down", ""));
  pass(1min);
  EXPECT_GT(wake_at, now);
}

TEST_F(CoreTest, APausedSinkIsSentNothingAndItsOutcomesCount) {
  row("a"), row("a");
  start();
  core->pause(0, true, now);
  answer(delivered(""));
  pass(5s);
  EXPECT_TRUE(in_flight.empty());
  EXPECT_EQ(settled.back().position->seq, 1);
  EXPECT_EQ(core->view()[0].held_because, "paused");
  core->pause(0, false, now);
  step();
  EXPECT_EQ(take_first(), "m-2");
}

TEST_F(CoreTest, DrainGivesUpAPausedSink) {
  row("a");
  start();
  answer(delivered(""));
  core->pause(0, true, now);
  row("a");
  core->drain(now);
  pass(1s);
  EXPECT_TRUE(finished);
  EXPECT_TRUE(in_flight.empty());
}

}  // namespace
}  // namespace outbox
