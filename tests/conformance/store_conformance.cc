#include "conformance/store_conformance.h"

#include "support/eventually.h"

namespace outbox::test {

namespace {

template <class T>
T value_of(Result<T> result) {
  if (!result) ADD_FAILURE() << result.failure().what;
  return result ? std::move(*result) : T{};
}

std::vector<std::string> ids(const std::vector<ParkedRun>& runs) {
  std::vector<std::string> result;
  for (const auto& run : runs) {
    for (const auto& parked : run.deliveries) result.push_back(parked.record->id);
  }
  return result;
}

std::vector<std::string> ids(const std::vector<RecordPtr>& records) {
  std::vector<std::string> result;
  for (const auto& record : records) result.push_back(record->id);
  return result;
}

}  // namespace

void StoreConformance::SetUp() {
  std::string skipped;
  bench_ = GetParam().make(skipped);
  if (!bench_) GTEST_SKIP() << skipped;
  store_ = bench_->make_store();
  state_ = take_over(*store_, feed_);
}

FeedState StoreConformance::take_over(Store& store, const Feed& feed) {
  bench_->lease("r1", feed.name);
  return value_of(store.take_over(feed, "r1"));
}

Result<void> StoreConformance::try_settle(const SettleBatch& batch) {
  return store_->settle(feed_, state_.epoch, batch);
}

void StoreConformance::settle(const SettleBatch& batch) {
  auto settled = try_settle(batch);
  ASSERT_TRUE(settled) << settled.failure().what;
}

void StoreConformance::park(std::vector<Park> parks) {
  SettleBatch batch;
  batch.parks = std::move(parks);
  settle(batch);
}

std::vector<ParkedRun> StoreConformance::due(std::size_t max_keys, std::size_t run_max,
                                             const std::vector<std::string>& except) {
  return value_of(store_->due("events", {}, max_keys, run_max, except));
}

Store::Parking StoreConformance::parking() { return value_of(store_->parking("events", {})); }

StoreStatus StoreConformance::status() { return value_of(store_->status({feed_})); }

PageFacts StoreConformance::facts(const std::vector<RecordPtr>& records) {
  std::vector<std::string> keys;
  for (const auto& record : records) keys.push_back(record->key);
  return value_of(store_->page_facts("events", keys, ids(records)));
}

void StoreConformance::update(std::int64_t row, ParkedUpdate::Kind kind, Duration wait, bool holds_key, int replays) {
  SettleBatch batch;
  batch.updates.push_back({row, kind, 3, state_.database_now + wait, holds_key, "http_500", "it said no", replays});
  settle(batch);
}

Park StoreConformance::waiting(const RecordPtr& record, Duration wait) const {
  Park park;
  park.record = record;
  park.sink = "events";
  park.attempts = 1;
  park.next_attempt = state_.database_now + wait;
  park.charged = true;
  park.reason = "http_500";
  park.error = "it said no";
  return park;
}

Park StoreConformance::behind(const RecordPtr& record) const {
  Park park = waiting(record);
  park.attempts = 0;
  park.charged = false;
  park.reason = "behind_key";
  park.error.clear();
  return park;
}

Park StoreConformance::dead(const RecordPtr& record, bool holds_key) const {
  Park park = waiting(record);
  park.state = DeliveryState::dead;
  park.holds_key = holds_key;
  return park;
}

TEST_P(StoreConformance, AStoredPositionIsWhereTheNextRelayStarts) {
  const auto first = bench_->insert("1"), second = bench_->insert("2");
  SettleBatch batch;
  batch.position = bench_->after_all();
  batch.position->ahead = {{first->seq, first->xid}, {second->seq, second->xid}};
  settle(batch);
  const auto next = take_over(*bench_->make_store(), feed_);
  EXPECT_EQ(next.start, *batch.position);
  EXPECT_GT(next.epoch, state_.epoch);
  EXPECT_GE(next.database_now, state_.database_now);
}

TEST_P(StoreConformance, ANewSinkStartsNowOrAtTheBeginning) {
  bench_->insert("1");
  const auto store = bench_->make_store();
  const Feed beginning{"a", {"a"}, true, true};
  const Feed now{"b", {"b"}, true, false};
  take_over(*store, beginning);
  take_over(*store, now);
  EXPECT_EQ(value_of(store->status({beginning})).unsent, 1);
  EXPECT_EQ(value_of(store->status({now})).unsent, 0);
  bench_->insert("2");
  EXPECT_EQ(value_of(store->status({now})).unsent, 1);
}

TEST_P(StoreConformance, WhoWasTakenOverFromSettlesNothing) {
  const auto record = bench_->insert("1");
  const auto other = bench_->make_store();
  take_over(*other, feed_);
  SettleBatch position;
  position.position = bench_->after_all();
  SettleBatch all = position;
  all.parks = {waiting(record)};
  for (const auto& batch : {position, all}) {
    auto settled = try_settle(batch);
    ASSERT_FALSE(settled);
    EXPECT_EQ(settled.failure().kind, FailureKind::fenced);
  }
  EXPECT_EQ(parking().counts.waiting, 0);
  EXPECT_EQ(take_over(*other, feed_).start, state_.start);
}

TEST_P(StoreConformance, FeedsAreFencedEachByItself) {
  take_over(*bench_->make_store(), Feed{"other", {"other"}, true, true});
  SettleBatch batch;
  batch.position = bench_->after_all();
  settle(batch);
}

TEST_P(StoreConformance, SettlingTwiceIsSettlingOnce) {
  SettleBatch batch;
  batch.parks = {waiting(bench_->insert("1")), dead(bench_->insert("2"))};
  batch.position = bench_->after_all();
  settle(batch);
  settle(batch);
  const auto counts = parking().counts;
  EXPECT_EQ(counts.waiting, 1);
  EXPECT_EQ(counts.dead, 1);
  const auto row = due().at(0).deliveries.at(0).row;
  update(row, ParkedUpdate::Kind::done);
  update(row, ParkedUpdate::Kind::done);
  EXPECT_EQ(parking().counts.waiting, 0);
}

TEST_P(StoreConformance, WhatIsParkedComesBackAsItWas) {
  auto record = *bench_->insert("1");
  record.payload = std::string("\x00\xff{\"\\'", 6);
  record.payload_json = false;
  record.headers = R"({"a":["x",""],"b":"\\,{}\"'"})";
  record.traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  record.not_before = record.created_at + 5s;
  record.aggregate_version = 1'000'000'000'000;
  record.schema_version = 3;
  park({waiting(std::make_shared<Record>(record))});
  const auto runs = due();
  ASSERT_EQ(runs.size(), 1u);
  const auto& parked = runs[0].deliveries.at(0);
  EXPECT_EQ(parked.attempts, 1);
  EXPECT_EQ(parked.replays, 0);
  const auto& back = *parked.record;
  EXPECT_EQ(back.id, record.id);
  EXPECT_EQ(back.key, record.key);
  EXPECT_EQ(back.aggregate_type, record.aggregate_type);
  EXPECT_EQ(back.aggregate_id, record.aggregate_id);
  EXPECT_EQ(back.type, record.type);
  EXPECT_EQ(back.payload, record.payload);
  EXPECT_EQ(back.payload_json, record.payload_json);
  EXPECT_FALSE(back.payload_null);
  EXPECT_EQ(back.headers, record.headers);
  EXPECT_EQ(back.traceparent, record.traceparent);
  EXPECT_EQ(back.created_at, record.created_at);
  EXPECT_EQ(back.not_before, record.not_before);
  EXPECT_EQ(back.aggregate_version, record.aggregate_version);
  EXPECT_EQ(back.schema_version, record.schema_version);
}

TEST_P(StoreConformance, ANullPayloadStaysNull) {
  auto record = *bench_->insert("1");
  record.payload.clear();
  record.payload_null = true;
  park({waiting(std::make_shared<Record>(record))});
  EXPECT_TRUE(due().at(0).deliveries.at(0).record->payload_null);
}

TEST_P(StoreConformance, AnyErrorTextCanBeStored) {
  auto park_it = waiting(bench_->insert("1"));
  park_it.error = std::string("\xff\xfe\0", 3) + std::string(300'000, 'x');
  park({park_it});
  const auto error = status().sinks.at("events").last_error;
  EXPECT_GT(error.size(), 1000u);
  EXPECT_LE(error.size(), 4096u);
}

TEST_P(StoreConformance, NothingIsDueBeforeItsTime) {
  park({waiting(bench_->insert("1"), 1h)});
  EXPECT_TRUE(due().empty());
  EXPECT_EQ(parking().next_due, state_.database_now + 1h);
}

TEST_P(StoreConformance, NothingParkedIsNeverDue) { EXPECT_EQ(parking().next_due, kNever); }

TEST_P(StoreConformance, AKeyIsReleasedInTheOrderOfParking) {
  const auto a = bench_->insert("1"), b = bench_->insert("1"), c = bench_->insert("1"), d = bench_->insert("1");
  park({waiting(b), behind(a)});
  park({behind(d), behind(c)});
  const auto runs = due();
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].key, a->key);
  EXPECT_EQ(ids(runs), (std::vector<std::string>{b->id, a->id, d->id, c->id}));
  EXPECT_FALSE(runs[0].more);
}

TEST_P(StoreConformance, ARunIsCutAndSaysSo) {
  const auto a = bench_->insert("1"), b = bench_->insert("1"), c = bench_->insert("1");
  park({waiting(a), behind(b), behind(c)});
  const auto runs = due(10, 2);
  EXPECT_EQ(ids(runs), (std::vector<std::string>{a->id, b->id}));
  EXPECT_TRUE(runs.at(0).more);
}

TEST_P(StoreConformance, KeysAreIndependentAndCountLimited) {
  for (const auto* key : {"1", "2", "3"}) park({waiting(bench_->insert(key))});
  EXPECT_EQ(due().size(), 3u);
  EXPECT_EQ(due(2).size(), 2u);
  const auto runs = due(10, 10, {"order:1", "order:3"});
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].key, "order:2");
}

TEST_P(StoreConformance, TheFirstOfAKeyHoldsTheOthersBack) {
  const auto a = bench_->insert("1"), b = bench_->insert("1"), other = bench_->insert("2");
  park({waiting(a, 1h), behind(b), waiting(other)});
  EXPECT_EQ(ids(due()), std::vector<std::string>{other->id});
}

TEST_P(StoreConformance, FollowersAreDueOnceTheFirstIsDone) {
  const auto a = bench_->insert("1"), b = bench_->insert("1"), c = bench_->insert("1");
  park({waiting(a), behind(b), behind(c)});
  update(due().at(0).deliveries.at(0).row, ParkedUpdate::Kind::done);
  EXPECT_EQ(ids(due()), (std::vector<std::string>{b->id, c->id}));
  EXPECT_LE(parking().next_due, value_of(store_->status({feed_})).database_now);
}

TEST_P(StoreConformance, AFollowerParkedWhileTheFirstIsDoneIsNotForgotten) {
  const auto a = bench_->insert("1"), b = bench_->insert("1");
  park({waiting(a)});
  SettleBatch batch;
  batch.updates.push_back({due().at(0).deliveries.at(0).row, ParkedUpdate::Kind::done, 1, {}, false, "", ""});
  batch.parks = {behind(b)};
  settle(batch);
  EXPECT_EQ(ids(due()), std::vector<std::string>{b->id});
}

TEST_P(StoreConformance, ATryThatFailedWaitsAgain) {
  const auto a = bench_->insert("1"), b = bench_->insert("1");
  park({waiting(a), behind(b)});
  update(due().at(0).deliveries.at(0).row, ParkedUpdate::Kind::waiting, 1h);
  EXPECT_TRUE(due().empty());
  EXPECT_EQ(parking().next_due, state_.database_now + 1h);
}

// By the database's clock, and whatever it had been parked for before.
TEST_P(StoreConformance, TheFirstFailureIsRemembered) {
  park({behind(bench_->insert("1"))});
  const Parked before = due().at(0).deliveries.at(0);
  ASSERT_TRUE(eventually(10s, [&] { return value_of(store_->status({feed_})).database_now > before.failing_since; }));
  update(before.row, ParkedUpdate::Kind::waiting, Duration(0));
  const Parked failed = due().at(0).deliveries.at(0);
  EXPECT_EQ(failed.attempts, 3);
  EXPECT_GT(failed.failing_since, before.failing_since);
  update(failed.row, ParkedUpdate::Kind::waiting, Duration(0));
  EXPECT_EQ(due().at(0).deliveries.at(0).failing_since, failed.failing_since);
}

TEST_P(StoreConformance, ADeadFirstLetsItsKeyGoOn) {
  const auto a = bench_->insert("1"), b = bench_->insert("1");
  park({waiting(a), behind(b)});
  update(due().at(0).deliveries.at(0).row, ParkedUpdate::Kind::dead);
  EXPECT_EQ(ids(due()), std::vector<std::string>{b->id});
  EXPECT_EQ(parking().counts.dead, 1);
}

TEST_P(StoreConformance, ADeadOneThatHoldsItsKeyBlocksIt) {
  const auto a = bench_->insert("1"), b = bench_->insert("1"), c = bench_->insert("2");
  park({waiting(a), behind(b), waiting(c)});
  for (const auto& run : due()) {
    if (run.key == a->key) update(run.deliveries.at(0).row, ParkedUpdate::Kind::dead, {}, true);
  }
  EXPECT_EQ(ids(due()), std::vector<std::string>{c->id});
  EXPECT_EQ(facts({a}).waiting_keys, std::vector<std::string>{a->key});
  // One that was dead and held its key from the start does so as well.
  const auto d = bench_->insert("3"), e = bench_->insert("3");
  park({dead(d, true), behind(e)});
  EXPECT_EQ(ids(due()), std::vector<std::string>{c->id});
}

TEST_P(StoreConformance, WhatIsNotDueYetStandsInNobodysWay) {
  const auto later = bench_->insert("1"), a = bench_->insert("1"), b = bench_->insert("1");
  auto park_later = waiting(later, 1h);
  park_later.not_due = true;
  park_later.charged = false;
  park_later.attempts = 0;
  park({park_later});
  EXPECT_TRUE(facts({a}).waiting_keys.empty());
  EXPECT_EQ(facts({later}).known_messages, std::vector<std::string>{later->id});
  EXPECT_EQ(parking().counts.not_due, 1);
  EXPECT_EQ(parking().counts.uncharged, 0);
  park({waiting(a), behind(b)});
  const auto runs = due();
  EXPECT_EQ(ids(runs), (std::vector<std::string>{a->id, b->id}));
  EXPECT_EQ(parking().counts.waiting, 3);
}

TEST_P(StoreConformance, WhatBecameDueTakesItsPlaceInItsKey) {
  const auto a = bench_->insert("1"), later = bench_->insert("1");
  auto park_later = waiting(later, -1s);  // its not_before has just passed
  park_later.not_due = true;
  park({waiting(a, 1h), park_later});
  EXPECT_TRUE(due().empty());
  EXPECT_EQ(parking().next_due, state_.database_now + 1h);
  EXPECT_EQ(facts({a}).waiting_keys, std::vector<std::string>{a->key});
  // And alone it is simply due.
  const auto alone = bench_->insert("2");
  auto park_alone = park_later;
  park_alone.record = alone;
  park({park_alone});
  EXPECT_EQ(ids(due()), std::vector<std::string>{alone->id});
}

TEST_P(StoreConformance, FactsNameWaitingKeysAndKnownMessages) {
  const auto a = bench_->insert("1"), b = bench_->insert("2"), c = bench_->insert("3"), d = bench_->insert("4");
  park({waiting(a, 1h), dead(b), waiting(c)});
  update(due().at(0).deliveries.at(0).row, ParkedUpdate::Kind::done);
  auto known = facts({a, b, c, d});
  EXPECT_EQ(known.waiting_keys, std::vector<std::string>{a->key});
  std::sort(known.known_messages.begin(), known.known_messages.end());
  auto expected = ids(std::vector<RecordPtr>{a, b, c});
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(known.known_messages, expected);
  const auto other = value_of(store_->page_facts("other", {a->key}, {a->id}));
  EXPECT_TRUE(other.waiting_keys.empty());
  EXPECT_TRUE(other.known_messages.empty());
}

TEST_P(StoreConformance, ParkedRowsConcernTheStreamUntilThePositionHasPassed) {
  EXPECT_FALSE(parking().counts.concerns_stream);
  const auto a = bench_->insert("1");
  park({dead(a)});
  EXPECT_TRUE(parking().counts.concerns_stream);
  SettleBatch batch;
  batch.position = bench_->after_all();
  settle(batch);
  EXPECT_FALSE(parking().counts.concerns_stream);
  park({waiting(bench_->insert("2"), 1h)});
  batch.position = bench_->after_all();
  settle(batch);
  EXPECT_TRUE(parking().counts.concerns_stream);
}

TEST_P(StoreConformance, ParkingCounts) {
  auto closed = waiting(bench_->insert("1"));
  closed.charged = false;
  closed.attempts = 0;
  closed.reason = "destination_closed";
  park({closed, waiting(bench_->insert("2")), dead(bench_->insert("3"))});
  const auto counts = parking().counts;
  EXPECT_EQ(counts.waiting, 2);
  EXPECT_EQ(counts.uncharged, 1);
  EXPECT_EQ(counts.dead, 1);
  EXPECT_EQ(counts.not_due, 0);
}

// Only what was parked for want of a destination is counted as such, whatever became of the tries since.
TEST_P(StoreConformance, WhatFailedByItsOwnFaultStaysCharged) {
  auto closed = waiting(bench_->insert("1"));
  closed.charged = false;
  closed.attempts = 0;
  park({closed, waiting(bench_->insert("2"))});
  const auto retry = [&](int more_attempts) {
    SettleBatch batch;
    for (const auto& run : due()) {
      const auto& tried = run.deliveries.at(0);
      batch.updates.push_back({tried.row, ParkedUpdate::Kind::waiting, tried.attempts + more_attempts,
                               state_.database_now, false, "http_500", "it said no", tried.replays});
    }
    EXPECT_EQ(batch.updates.size(), 2u);
    settle(batch);
    settle(batch);
  };
  retry(0);
  EXPECT_EQ(parking().counts.uncharged, 1);
  retry(1);
  EXPECT_EQ(parking().counts.uncharged, 0);
  retry(0);
  EXPECT_EQ(parking().counts.uncharged, 0);
}

TEST_P(StoreConformance, AFollowerThatFailedItselfIsNotTriedBeforeItsTime) {
  const auto a = bench_->insert("1"), b = bench_->insert("1"), c = bench_->insert("1");
  park({waiting(a), waiting(b, 1h), behind(c)});
  const auto runs = due();
  EXPECT_EQ(ids(runs), std::vector<std::string>{a->id});
  EXPECT_TRUE(runs.at(0).more);
  update(runs.at(0).deliveries.at(0).row, ParkedUpdate::Kind::done);
  EXPECT_TRUE(due().empty());
  EXPECT_EQ(parking().next_due, state_.database_now + 1h);
}

TEST_P(StoreConformance, TombstonesStayUntilThePositionHasPassed) {
  const auto record = bench_->insert("1");
  park({waiting(record)});
  update(due().at(0).deliveries.at(0).row, ParkedUpdate::Kind::done);
  EXPECT_EQ(value_of(store_->prune({feed_}, {}, 100, false)), 0);
  EXPECT_EQ(facts({record}).known_messages.size(), 1u);
  SettleBatch batch;
  batch.position = bench_->after_all();
  settle(batch);
  EXPECT_EQ(value_of(store_->prune({feed_}, {}, 100, true)), 1);
  EXPECT_EQ(value_of(store_->prune({feed_}, {}, 100, false)), 1);
  EXPECT_TRUE(facts({record}).known_messages.empty());
}

TEST_P(StoreConformance, DeadLettersGoByTheirOwnRetention) {
  const auto a = bench_->insert("1");
  park({dead(a)});
  EXPECT_EQ(value_of(store_->prune({feed_}, {{}, 0s}, 100, false)), 0) << "a re-read would send it";
  SettleBatch batch;
  batch.position = bench_->after_all();
  settle(batch);
  EXPECT_EQ(value_of(store_->prune({feed_}, {{}, 1h}, 100, false)), 0);
  EXPECT_EQ(value_of(store_->prune({feed_}, {{}, {}}, 100, false)), 0);
  EXPECT_EQ(value_of(store_->prune({feed_}, {{}, 0s}, 100, false)), 1);
  EXPECT_EQ(parking().counts.dead, 0);
}

TEST_P(StoreConformance, PruneStaysBehindEveryPosition) {
  const Feed slow{"slow", {"slow"}, true, true};
  take_over(*store_, slow);
  for (int i = 0; i < 10; ++i) bench_->insert("1");
  SettleBatch batch;
  batch.position = bench_->after_all();
  settle(batch);
  EXPECT_EQ(value_of(store_->prune({feed_, slow}, {0s, {}}, 100, false)), 0);
  EXPECT_EQ(bench_->rows(), 10);
  auto moved = store_->settle(slow, 1, batch);
  ASSERT_TRUE(moved) << moved.failure().what;
  bench_->insert("2");
  EXPECT_EQ(value_of(store_->prune({feed_, slow}, {1h, {}}, 100, false)), 0) << "none is an hour old";
  EXPECT_EQ(value_of(store_->prune({feed_, slow}, {0s, {}}, 4, false)), 4);
  EXPECT_EQ(value_of(store_->prune({feed_, slow}, {0s, {}}, 100, false)), 6);
  EXPECT_EQ(value_of(store_->prune({feed_, slow}, {0s, {}}, 100, false)), 0);
  EXPECT_EQ(bench_->rows(), 1);
}

TEST_P(StoreConformance, PruneWaitsForASinkThatHasNoPositionYet) {
  bench_->insert("1");
  SettleBatch batch;
  batch.position = bench_->after_all();
  settle(batch);
  EXPECT_EQ(value_of(store_->prune({feed_, {"new", {"new"}, true, true}}, {0s, {}}, 100, false)), 0);
}

TEST_P(StoreConformance, StatusCountsWhatIsUnsent) {
  EXPECT_EQ(status().unsent, 0);
  EXPECT_FALSE(status().oldest_unsent);
  const auto first = bench_->insert("1");
  bench_->insert("2");
  auto now = status();
  EXPECT_EQ(now.unsent, 2);
  EXPECT_FALSE(now.unsent_is_capped);
  EXPECT_EQ(now.oldest_unsent, first->created_at);
  EXPECT_FALSE(now.sinks.at("events").last_error_at.has_value());
  SettleBatch batch;
  batch.parks = {waiting(first, 1h)};
  batch.position = bench_->after_all();
  settle(batch);
  now = status();
  EXPECT_EQ(now.unsent, 0);
  EXPECT_EQ(now.sinks.at("events").parked.waiting, 1);
  EXPECT_EQ(now.sinks.at("events").oldest_waiting, first->created_at);
  EXPECT_EQ(now.sinks.at("events").last_error, "it said no");
  EXPECT_TRUE(now.sinks.at("events").last_error_at.has_value());
}

TEST_P(StoreConformance, StatusNamesSinksThatAreInNoFeed) {
  park({waiting(bench_->insert("1"))});
  const auto seen = value_of(store_->status({Feed{"other", {"other"}, true, false}}));
  EXPECT_EQ(seen.sinks.at("events").parked.waiting, 1);
  EXPECT_EQ(seen.sinks.at("other").parked.waiting, 0);
}

TEST_P(StoreConformance, HeartbeatsTellWhoIsThere) {
  auto beat = store_->heartbeat({"host-1", R"([{"name":"events"}])", false});
  ASSERT_TRUE(beat) << beat.failure().what;
  auto relays = status().relays;
  ASSERT_EQ(relays.size(), 1u);
  EXPECT_EQ(relays[0].name, "host-1");
  EXPECT_EQ(relays[0].sinks_json, R"([{"name":"events"}])");
  EXPECT_FALSE(relays[0].stopped);
  EXPECT_GE(relays[0].seen_at, relays[0].started_at);
  ASSERT_TRUE(store_->heartbeat({"host-1", "[]", true}));
  relays = status().relays;
  ASSERT_EQ(relays.size(), 1u);
  EXPECT_TRUE(relays[0].stopped);
}

}  // namespace outbox::test
