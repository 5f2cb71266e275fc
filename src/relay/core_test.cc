// The core's rules, one at a time. Whole lives under faults: tests/simulation.
#include "relay/core_fixture.h"

namespace outbox {
namespace {

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
  EXPECT_EQ(died, std::vector<std::string>{"m-2 too_old"}) << "heard of, although it did not die in the stream";
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
  if (in_flight.empty()) pass(options.sinks[0].breaker.cap);
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

// Case B037: those that are at their last attempt, and the oldest, come first after a restart.
TEST_F(CoreTest, AProbeTakesAMessageThatHasNotFailed) {
  for (int i = 0; i < 10; ++i) {
    const std::string key = "poison" + std::to_string(i);
    runs.push_back({"order:" + key, {{100 + i, row(key), 2, 0}}, false});
  }
  rows.clear();
  start();
  while (!in_flight.empty()) answer(unknown("http_500", ""));
  ASSERT_NE(core->view()[0].breaker, BreakerState::closed);
  const auto fresh = row("well")->id;
  pass(options.sinks[0].breaker.open + 1s);
  ASSERT_EQ(in_flight.size(), 1u) << "a probe goes alone";
  EXPECT_EQ(take_first(), fresh);
  answer(delivered(""));
  EXPECT_EQ(core->view()[0].breaker, BreakerState::closed);
  while (!in_flight.empty()) answer(unknown("http_500", ""));
  EXPECT_FALSE(died.empty()) << "their own fault now";
}

// Case B103: while the breaker is open its message has no pause of its own beside.
TEST_F(CoreTest, AProbeWaitsForTheBreakerAlone) {
  options.sinks[0].breaker = {5, 10s, 10s};
  options.sinks[0].retry = {1h, 1h, 3};
  row("a");
  start();
  for (int failures = 1; failures < 5; ++failures) {
    answer(busy(Scope::sink, "refused", ""));
    pass(1h);
  }
  for (int probe = 0; probe < 3; ++probe) {
    answer(busy(Scope::sink, "refused", ""));
    pass(9s);
    EXPECT_TRUE(in_flight.empty());
    pass(1s);
    ASSERT_EQ(in_flight.size(), 1u) << probe;
  }
  answer(delivered(""));
  EXPECT_EQ(core->view()[0].breaker, BreakerState::closed);
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
  EXPECT_EQ(all[0].error.find("the breaker of 'bad' lets nothing through"), 0u) << all[0].error;
  EXPECT_EQ(all[0].attempts, 0);
  EXPECT_EQ(all[1].record->id, "m-3");
}

// Case B223: a URL may hold a token.
TEST_F(CoreTest, WhatWaitsForAUrlDoesNotQuoteIt) {
  routes = {{"events", "order", {}, "partner/good", "", {}, false},
            {"events", "bill", {}, "partner/tok_ABC", "", {}, false}};
  options.sinks[0].capabilities.fields_lead_elsewhere = false;
  options.sinks[0].breaker = {1, 5s, 1min};
  auto bill = std::make_shared<Record>(*row("bad"));
  bill->aggregate_type = "bill";
  rows.back() = bill;
  row("good");
  start();
  answer(busy(Scope::destination, "credentials", "partner answered 401"));
  answer(delivered(""));
  pass(2s);
  ASSERT_EQ(parks().size(), 1u);
  EXPECT_EQ(parks()[0].error, "the breaker lets nothing through: credentials: partner answered 401");
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
  core->started({}, clocks());
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
  core->reopened(0, {}, clocks());
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
  core->stop(clocks());
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
  core->drain(clocks());
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
  core->drain(clocks());
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
  core->drain(clocks());
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

// As the paths of one host: it is up or down for all of them, and a 500 is told from an outage by what the others get.
TEST_F(CoreTest, AddressesOfARouteAreOneDestinationWhereFieldsLeadNowhereElse) {
  options.sinks[0].capabilities.fields_lead_elsewhere = false;
  routes[0].address = "partner/orders/{aggregate_id}";
  row("a"), row("b");
  start();
  ASSERT_EQ(in_flight.size(), 2u);
  EXPECT_EQ(in_flight[0].destination, "partner/orders/a");
  EXPECT_EQ(in_flight[1].destination, "partner/orders/b");
  const auto poisoned = in_flight[1];
  in_flight.pop_back();
  answer(delivered(""));
  in_flight.push_back(poisoned);
  answer(unknown("http_500", ""));
  ASSERT_EQ(parks().size(), 1u);
  EXPECT_TRUE(parks()[0].charged);
  for (const char* key : {"c", "d", "e", "f", "g", "h"}) row(key);
  pass(300ms);
  while (!in_flight.empty()) answer(unknown("http_503", ""));
  EXPECT_EQ(core->view()[0].breaker, BreakerState::open);
  EXPECT_EQ(parks().size(), 1u) << "the position stands";
}

// The index on the keys of what waits takes no key of any length.
TEST_F(CoreTest, AKeyThatIsTooLongToWaitIsRetriedFromMemory) {
  const std::string key(3000, 'k');
  row(key), row("b");
  start();
  ASSERT_EQ(in_flight.size(), 2u);
  const auto poisoned = in_flight.front();
  in_flight.pop_front();
  answer(delivered(""));
  in_flight.push_back(poisoned);
  answer(unknown("http_500", ""));
  EXPECT_TRUE(parks().empty());
  pass(2s);
  ASSERT_EQ(in_flight.size(), 1u);
  answer(rejected("http_422", "no"));
  ASSERT_EQ(parks().size(), 1u);
  EXPECT_EQ(parks()[0].state, DeliveryState::dead);
  EXPECT_FALSE(parks()[0].holds_key);
  row(key, now + 1h);
  pass(300ms);
  ASSERT_EQ(parks().size(), 2u);
  EXPECT_EQ(parks()[1].reason, "key_too_long");
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
  core->lapsed(clocks());
  step();
  EXPECT_EQ(reopens, 1);
  EXPECT_EQ(restarts, 0) << "without a lease there is nothing to take over";
  answer(client_dead("reopened", ""));
  core->reopened(0, {}, clocks());
  pass(5s);
  EXPECT_TRUE(in_flight.empty());
  EXPECT_TRUE(settled.empty());
  EXPECT_EQ(core->view()[0].held_because, "the lease has run out");
}

TEST_F(CoreTest, ALapseWithNothingInFlightLeavesTheClientAlone) {
  start();
  core->lapsed(clocks());
  step();
  EXPECT_EQ(reopens, 0);
}

TEST_F(CoreTest, WhatIsConfirmedAfterALapseIsNotSettled) {
  row("a");
  start();
  core->lapsed(clocks());
  step();
  answer(delivered(""));
  pass(1s);
  EXPECT_EQ(settles, 0);
}

TEST_F(CoreTest, ATakeOverThatIsAnsweredDuringALapseChangesNothing) {
  start();
  core->lapsed(clocks());
  row("a");
  core->started({}, clocks());
  step();
  pass(1s);
  EXPECT_TRUE(in_flight.empty());
}

TEST_F(CoreTest, TheNextLeaseAsksForATakeOverAndThenItGoesOn) {
  start();
  core->lapsed(clocks());
  core->lapsed(clocks());
  core->leased(clocks());
  step();
  EXPECT_EQ(restarts, 1);
  row("a");
  pass(1s);
  EXPECT_TRUE(in_flight.empty()) << "before it has the share again";
  core->started({}, clocks());
  step();
  EXPECT_EQ(take_first(), "m-1");
  core->leased(clocks());
  step();
  EXPECT_EQ(restarts, 1);
}

TEST_F(CoreTest, ALapseDuringTheFirstTakeOverIsMadeUpForToo) {
  core = std::make_unique<Core>(options, std::make_shared<Router>(routes), 1);
  core->lapsed(clocks());
  core->started({}, clocks());
  core->leased(clocks());
  step();
  EXPECT_EQ(restarts, 1);
}

TEST_F(CoreTest, WhoStopsTakesBackWhatTheClientHoldsAtALapse) {
  row("a");
  start();
  core->stop(clocks());
  step();
  core->lapsed(clocks());
  step();
  EXPECT_EQ(reopens, 1);
  EXPECT_FALSE(finished);
  answer(client_dead("reopened", ""));
  EXPECT_TRUE(finished);
}

TEST_F(CoreTest, WhoStopsRebuildsADeadClientForWhatHasNotComeBack) {
  row("a"), row("b");
  start();
  core->stop(clocks());
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
  core->pause(0, true, clocks());
  answer(busy(Scope::sink, "brokers_down", ""));
  pass(1min);
  EXPECT_GT(wake_at, steady(now));
}

TEST_F(CoreTest, APausedSinkIsSentNothingAndItsOutcomesCount) {
  row("a"), row("a");
  start();
  core->pause(0, true, clocks());
  answer(delivered(""));
  pass(5s);
  EXPECT_TRUE(in_flight.empty());
  EXPECT_EQ(settled.back().position->seq, 1);
  EXPECT_EQ(core->view()[0].held_because, "paused");
  core->pause(0, false, clocks());
  step();
  EXPECT_EQ(take_first(), "m-2");
}

TEST_F(CoreTest, DrainGivesUpAPausedSink) {
  row("a");
  start();
  answer(delivered(""));
  core->pause(0, true, clocks());
  row("a");
  core->drain(clocks());
  pass(1s);
  EXPECT_TRUE(finished);
  EXPECT_TRUE(in_flight.empty());
}

}  // namespace
}  // namespace outbox
