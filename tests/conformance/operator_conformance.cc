#include "conformance/operator_conformance.h"

#include <algorithm>
#include <thread>

namespace outbox::test {

namespace {

template <class T>
T value_of(Result<T> result) {
  if (!result) ADD_FAILURE() << result.failure().what;
  return result ? std::move(*result) : T{};
}

std::vector<std::string> ids(const std::vector<DeliveryInfo>& deliveries) {
  std::vector<std::string> result;
  for (const auto& each : deliveries) result.push_back(each.message_id);
  return result;
}

std::vector<std::string> ids(const std::vector<RecordPtr>& records) {
  std::vector<std::string> result;
  for (const auto& each : records) result.push_back(each->id);
  return result;
}

std::vector<std::string> ids(const std::vector<ParkedRun>& runs) {
  std::vector<std::string> result;
  for (const auto& run : runs) {
    for (const auto& parked : run.deliveries) result.push_back(parked.record->id);
  }
  return result;
}

DeliveryFilter of(std::vector<std::string> message_ids) {
  DeliveryFilter filter;
  filter.message_ids = std::move(message_ids);
  return filter;
}

}  // namespace

void OperatorConformance::SetUp() {
  StoreConformance::SetUp();
  if (!bench_) return;
  operator_ = bench_->make_operator();
  ASSERT_NE(operator_, nullptr);
}

std::vector<RecordPtr> OperatorConformance::bury(int n) {
  std::vector<RecordPtr> records;
  std::vector<Park> parks;
  for (int i = 1; i <= n; ++i) {
    records.push_back(bench_->insert(std::to_string(i)));
    parks.push_back(dead(records.back()));
  }
  park(std::move(parks));
  return records;
}

std::vector<DeliveryInfo> OperatorConformance::listed(ListedState state, const DeliveryFilter& filter,
                                                      std::size_t limit) {
  return value_of(operator_->list(state, filter, routes_, limit));
}

std::int64_t OperatorConformance::requeue(const DeliveryFilter& filter, int replays_max, std::size_t max_rows) {
  auto walk = value_of(operator_->begin_walk(filter));
  WalkStep sum;
  while (!sum.end) {
    auto step = operator_->requeue(walk, replays_max, max_rows, act_);
    if (!step) {
      ADD_FAILURE() << step.failure().what;
      break;
    }
    sum = {sum.changed + step->changed, 0, step->end};
  }
  return sum.changed;
}

std::int64_t OperatorConformance::discard(const DeliveryFilter& filter) {
  auto walk = value_of(operator_->begin_walk(filter));
  return value_of(operator_->discard(walk, 100, act_)).changed;
}

MessageLife OperatorConformance::life(const std::string& message_id) {
  return value_of(operator_->life(message_id, routes_));
}

DeliveryInfo OperatorConformance::only(const std::string& message_id) {
  const auto found = value_of(operator_->find({message_id}, {}));
  EXPECT_EQ(found.size(), 1u);
  return found.empty() ? DeliveryInfo{} : found.front();
}

void OperatorConformance::pass_all() {
  SettleBatch batch;
  batch.position = bench_->after_all();
  settle(batch);
}

std::vector<std::string> OperatorConformance::deliver_due() {
  std::vector<std::string> delivered;
  while (true) {
    SettleBatch batch;
    for (const auto& run : due()) {
      for (const auto& parked : run.deliveries) {
        delivered.push_back(parked.record->id);
        batch.updates.push_back(
            {parked.row, ParkedUpdate::Kind::done, parked.attempts, {}, false, "", "", parked.replays});
      }
    }
    if (batch.updates.empty()) return delivered;
    settle(batch);
  }
}

TEST_P(OperatorConformance, WhatIsParkedIsListedAndFiltered) {
  const auto a = bench_->insert("1"), b = bench_->insert("2"), c = bench_->insert("3");
  auto owned = dead(b);
  owned.owner = "billing";
  owned.reason = "http_422";
  park({dead(a), owned, waiting(c, 1h)});
  EXPECT_EQ(ids(listed(ListedState::dead)), (std::vector<std::string>{a->id, b->id}));
  EXPECT_EQ(ids(listed(ListedState::waiting)), std::vector<std::string>{c->id});
  EXPECT_EQ(listed(ListedState::dead, {}, 1).size(), 1u);
  const auto found = [&](const DeliveryFilter& filter) { return ids(listed(ListedState::dead, filter)); };
  DeliveryFilter filter;
  filter.owner = "billing";
  EXPECT_EQ(found(filter), std::vector<std::string>{b->id});
  filter.reason = "http_500";
  EXPECT_TRUE(found(filter).empty());
  filter = {};
  filter.key = a->key;
  filter.sink = "events";
  filter.type = a->type;
  EXPECT_EQ(found(filter), std::vector<std::string>{a->id});
  filter.sink = "other";
  EXPECT_TRUE(found(filter).empty());
  filter = {};
  filter.since = value_of(operator_->now()) - 1h;
  EXPECT_EQ(found(filter).size(), 2u);
  filter.since = value_of(operator_->now()) + 1h;
  EXPECT_TRUE(found(filter).empty());
  EXPECT_EQ(found(of({b->id, "nobody"})), std::vector<std::string>{b->id});
  const auto info = only(b->id);
  EXPECT_EQ(info.state, "dead");
  EXPECT_EQ(info.sink, "events");
  EXPECT_EQ(info.reason, "http_422");
  EXPECT_EQ(info.error, "it said no");
  EXPECT_EQ(info.owner, "billing");
  EXPECT_EQ(info.attempts, 1);
  EXPECT_EQ(info.created_at, b->created_at);
}

TEST_P(OperatorConformance, WhatIsInTheStreamIsPendingOrSent) {
  const auto a = bench_->insert("1"), b = bench_->insert("2");
  EXPECT_EQ(ids(listed(ListedState::pending)), (std::vector<std::string>{a->id, b->id}));
  EXPECT_TRUE(listed(ListedState::sent).empty());
  park({dead(b)});
  EXPECT_EQ(ids(listed(ListedState::pending)), std::vector<std::string>{a->id}) << "what is parked is not pending";
  pass_all();
  const auto later = bench_->insert("1");
  EXPECT_EQ(ids(listed(ListedState::pending)), std::vector<std::string>{later->id});
  EXPECT_EQ(ids(listed(ListedState::sent)), std::vector<std::string>{a->id});
  DeliveryFilter filter;
  filter.key = "order:2";
  EXPECT_TRUE(listed(ListedState::sent, filter).empty());
  filter.key = "order:1";
  EXPECT_EQ(listed(ListedState::sent, filter).size(), 1u);
  filter.type = "Other";
  EXPECT_TRUE(listed(ListedState::sent, filter).empty());
  const std::vector<RouteFilter> others{{"events", "customer", {}}, {"events", {}, "Cancelled"}, {"other", {}, {}}};
  EXPECT_TRUE(value_of(operator_->list(ListedState::sent, {}, others, 10)).empty()) << "no route takes it there";
  requeue();
  deliver_due();
  EXPECT_EQ(ids(listed(ListedState::sent)), (std::vector<std::string>{b->id, a->id})) << "newest first";
}

// B111
TEST_P(OperatorConformance, WhatIsRequeuedIsDueAndAsItWas) {
  auto record = *bench_->insert("1");
  record.payload = std::string("\x00\xff\x7b", 3);
  record.payload_json = false;
  record.headers = R"({"a":["x","y"],"b":"","c":"d"})";
  park({dead(std::make_shared<Record>(record))});
  EXPECT_EQ(requeue(), 1);
  const auto runs = due();
  ASSERT_EQ(ids(runs), std::vector<std::string>{record.id});
  const auto& again = runs[0].deliveries[0];
  EXPECT_EQ(again.attempts, 0);
  EXPECT_EQ(again.replays, 1);
  EXPECT_EQ(again.record->payload, record.payload);
  EXPECT_EQ(again.record->payload_json, false);
  EXPECT_EQ(again.record->headers, record.headers);
  EXPECT_EQ(again.record->key, record.key);
  EXPECT_EQ(parking().counts.uncharged, 0) << "it takes no room from what waits for its destination";
  EXPECT_LE(parking().next_due, value_of(operator_->now()));
}

TEST_P(OperatorConformance, AKeyComesBackInItsOrder) {
  const auto a = bench_->insert("1"), b = bench_->insert("1"), c = bench_->insert("1"), d = bench_->insert("1");
  park({dead(a), dead(b), waiting(c), dead(d)});
  EXPECT_EQ(requeue({}, 10, 2), 3);
  EXPECT_EQ(deliver_due(), ids({a, b, c, d}));
}

// A relay whose settle is in doubt repeats it, maybe behind somebody's back.
TEST_P(OperatorConformance, ARepeatedSettleUndoesNoRequeue) {
  const auto a = bench_->insert("1"), b = bench_->insert("2");
  park({waiting(a), waiting(b)});
  SettleBatch batch;
  for (const auto& run : due()) {
    const bool first = run.key == a->key;
    batch.updates.push_back({run.deliveries.at(0).row, ParkedUpdate::Kind::dead, 1, {}, first, "http_422", "no"});
  }
  settle(batch);
  ASSERT_EQ(parking().counts.dead, 2);
  EXPECT_EQ(requeue(of({a->id})), 1);
  settle(batch);
  EXPECT_EQ(only(a->id).state, "waiting");
  EXPECT_EQ(only(b->id).state, "dead");
  EXPECT_EQ(deliver_due(), ids({a}));
}

TEST_P(OperatorConformance, BehindWhatWaitsBeforeIt) {
  const auto first = bench_->insert("1"), second = bench_->insert("1");
  park({waiting(first), dead(second)});
  update(due().at(0).deliveries.at(0).row, ParkedUpdate::Kind::waiting, 1h);
  EXPECT_EQ(requeue(), 1);
  EXPECT_TRUE(due().empty());
  EXPECT_EQ(facts({second}).waiting_keys, std::vector<std::string>{second->key});
}

TEST_P(OperatorConformance, AKeyThatWasHeldGoesOnBehindItsDeadLetter) {
  const auto a = bench_->insert("1"), b = bench_->insert("1"), c = bench_->insert("1");
  park({dead(a, true), behind(b)});
  park({behind(c)});
  EXPECT_TRUE(due().empty());
  EXPECT_EQ(requeue(of({a->id})), 1);
  EXPECT_EQ(deliver_due(), ids({a, b, c}));
}

TEST_P(OperatorConformance, ADiscardedDeadLetterLetsItsKeyGoOn) {
  const auto a = bench_->insert("1"), b = bench_->insert("1");
  park({dead(a, true), behind(b)});
  EXPECT_EQ(discard(of({a->id})), 1);
  EXPECT_EQ(only(a->id).state, "discarded");
  EXPECT_EQ(facts({a}).known_messages, std::vector<std::string>{a->id}) << "a re-read must not send it";
  EXPECT_EQ(deliver_due(), ids({b}));
  EXPECT_EQ(discard(of({a->id})), 0);
  const auto audit = life(a->id).audit;
  ASSERT_EQ(audit.size(), 1u);
  EXPECT_EQ(audit[0].action, "discarded");
  EXPECT_EQ(audit[0].actor, "ana@desk");
  EXPECT_EQ(audit[0].reason, "said so");
  EXPECT_EQ(audit[0].sink, "events");
  EXPECT_EQ(audit[0].detail, "died of http_500 after 1 attempt: it said no");
  pass_all();
  EXPECT_EQ(value_of(store_->prune({feed_}, {}, 100, false)), 2) << "tombstones go by retention";
}

TEST_P(OperatorConformance, NothingButADeadLetterIsRequeued) {
  const auto a = bench_->insert("1"), b = bench_->insert("2");
  park({waiting(a), waiting(b, 1h)});
  EXPECT_EQ(requeue(), 0);
  EXPECT_EQ(deliver_due(), ids({a}));
  EXPECT_EQ(requeue(of({a->id, b->id})), 0);
  EXPECT_EQ(only(a->id).state, "done");
  EXPECT_EQ(only(b->id).replays, 0);
}

// A sink may give any reason: what it says of a try is not what somebody did.
TEST_P(OperatorConformance, WhatIsDeliveredIsNotDiscardedForItsReason) {
  const auto a = bench_->insert("1"), b = bench_->insert("2");
  auto replaced = dead(a), discarded = dead(b);
  replaced.reason = "replaced";
  discarded.reason = "discarded";
  park({replaced, discarded});
  EXPECT_EQ(requeue(), 2);
  EXPECT_EQ(deliver_due(), ids({a, b}));
  for (const auto& record : {a, b}) {
    EXPECT_EQ(only(record->id).state, "done");
    EXPECT_EQ(life(record->id).deliveries.at(0).state, "done");
  }
}

// B113
TEST_P(OperatorConformance, ARequeueThatWasCutShortIsSimplyDoneAgain) {
  bury(25);
  auto walk = value_of(operator_->begin_walk({}));
  EXPECT_EQ(value_of(operator_->count(walk, 10)).changed, 25);
  const auto step = value_of(operator_->requeue(walk, 10, 10, act_));
  EXPECT_EQ(step.changed, 10);
  EXPECT_FALSE(step.end);
  EXPECT_EQ(parking().counts.dead, 15);
  EXPECT_EQ(parking().counts.waiting, 10);
  operator_ = bench_->make_operator();
  EXPECT_EQ(requeue({}, 10, 10), 15);
  EXPECT_EQ(parking().counts.dead, 0);
  EXPECT_EQ(parking().counts.waiting, 25);
}

TEST_P(OperatorConformance, WhatDiesAgainIsNotMetTwice) {
  bury(6);
  auto walk = value_of(operator_->begin_walk({}));
  std::int64_t changed = 0;
  for (bool end = false; !end;) {
    const auto step = value_of(operator_->requeue(walk, 10, 2, act_));
    changed += step.changed;
    end = step.end;
    SettleBatch batch;
    for (const auto& run : due()) {
      const auto& first = run.deliveries.at(0);
      batch.updates.push_back(
          {first.row, ParkedUpdate::Kind::dead, 1, {}, false, "http_422", "still no", first.replays});
    }
    if (!batch.empty()) settle(batch);
  }
  EXPECT_EQ(changed, 6);
  EXPECT_EQ(parking().counts.dead, 6);
  for (const auto& each : listed(ListedState::dead)) EXPECT_EQ(each.replays, 1);
}

// B119
TEST_P(OperatorConformance, ReplaysAreCappedAlsoForManyAtOnce) {
  const auto a = bury(1).at(0);
  std::atomic<std::int64_t> changed = 0;
  for (int round = 0; round < 5; ++round) {
    std::vector<std::jthread> callers;
    for (int i = 0; i < 10; ++i) {
      callers.emplace_back([&] {
        const auto own = bench_->make_operator();
        auto walk = own->begin_walk(of({a->id}));
        if (!walk) return;
        const auto step = own->requeue(*walk, 3, 10, act_);
        if (step) changed += step->changed;
      });
    }
    callers.clear();
    SettleBatch batch;
    for (const auto& run : due()) {
      const auto& first = run.deliveries.at(0);
      batch.updates.push_back({first.row, ParkedUpdate::Kind::dead, 1, {}, false, "x", "y", first.replays});
    }
    if (!batch.empty()) settle(batch);
  }
  EXPECT_EQ(changed, 3);
  EXPECT_EQ(only(a->id).replays, 3);
  EXPECT_EQ(only(a->id).state, "dead");
  const auto counted = value_of(operator_->count(value_of(operator_->begin_walk({})), 3));
  EXPECT_EQ(counted.changed, 0);
  EXPECT_EQ(counted.refused, 1);
  EXPECT_EQ(discard(), 1) << "it can be given up";
}

TEST_P(OperatorConformance, ACorrectedMessageTakesThePlaceUnderAnotherId) {
  const auto a = bench_->insert("1"), b = bench_->insert("1");
  auto first = *a;
  first.headers = R"({"tenant":"x"})";
  park({dead(std::make_shared<Record>(first), true), behind(b)});
  const std::string new_id = "01970a3e-7c52-7d2f-8a61-3f0c52d1b7aa";
  EXPECT_TRUE(value_of(operator_->replace(only(a->id).row, new_id, "{\"n\":1}", 10, act_)));
  const auto runs = due();
  ASSERT_EQ(ids(runs), (std::vector<std::string>{new_id, b->id}));
  const auto& sent = *runs[0].deliveries[0].record;
  EXPECT_EQ(sent.payload, "{\"n\":1}");
  EXPECT_EQ(sent.headers, R"({"tenant":"x","replaces":")" + a->id + "\"}");
  EXPECT_EQ(sent.key, a->key);
  EXPECT_EQ(sent.type, a->type);
  EXPECT_EQ(only(a->id).state, "discarded");
  EXPECT_EQ(only(a->id).reason, "replaced");
  EXPECT_EQ(facts({a}).known_messages, std::vector<std::string>{a->id});
  EXPECT_EQ(life(a->id).audit.at(0).detail.find("by " + new_id), 0u);
  EXPECT_FALSE(value_of(operator_->replace(only(a->id).row, "another", "{}", 10, act_))) << "once only";
  EXPECT_EQ(deliver_due().size(), 2u);
  pass_all();
  EXPECT_EQ(value_of(store_->prune({feed_}, {}, 100, false)), 3);
}

TEST_P(OperatorConformance, ACorrectedMessageMayKeepItsId) {
  const auto a = bury(1).at(0);
  const auto row = only(a->id).row;
  EXPECT_TRUE(value_of(operator_->replace(row, "", "{\"n\":2}", 1, act_)));
  const auto runs = due();
  ASSERT_EQ(ids(runs), std::vector<std::string>{a->id});
  EXPECT_EQ(runs[0].deliveries[0].record->payload, "{\"n\":2}");
  EXPECT_EQ(runs[0].deliveries[0].record->headers, a->headers);
  EXPECT_EQ(only(a->id).replays, 1);
  update(row, ParkedUpdate::Kind::dead, {}, false, 1);
  EXPECT_FALSE(value_of(operator_->replace(row, "", "{}", 1, act_))) << "the cap counts for an id";
}

TEST_P(OperatorConformance, TheLifeOfAMessage) {
  const auto a = bench_->insert("1");
  EXPECT_EQ(life(a->id).deliveries.at(0).state, "pending");
  EXPECT_TRUE(life(a->id).in_table);
  EXPECT_EQ(life(a->id).record->payload, a->payload);
  EXPECT_EQ(life(a->id).record->key, a->key);
  park({dead(a)});
  EXPECT_EQ(life(a->id).deliveries.at(0).state, "dead");
  requeue();
  EXPECT_EQ(life(a->id).deliveries.at(0).state, "waiting");
  deliver_due();
  EXPECT_EQ(life(a->id).deliveries.at(0).state, "done");
  EXPECT_EQ(life(a->id).audit.at(0).action, "requeued");
  const auto b = bench_->insert("2");
  pass_all();
  EXPECT_EQ(life(b->id).deliveries.at(0).state, "sent");
  const auto nobody = life("not an id at all");
  EXPECT_EQ(nobody.record, nullptr);
  EXPECT_TRUE(nobody.deliveries.empty());
}

// Nothing but the audit knows, once the position has passed it and the tombstone is gone.
TEST_P(OperatorConformance, WhatPeopleEndedIsNeverCalledSent) {
  const auto records = bury(3);
  const auto &dropped = records[0]->id, &old_id = records[1]->id, &again = records[2]->id;
  const std::string new_id = "01970a3e-7c52-7d2f-8a61-3f0c52d1b7aa";
  EXPECT_EQ(discard(of({dropped})), 1);
  EXPECT_TRUE(value_of(operator_->replace(only(old_id).row, new_id, "{}", 10, act_)));
  EXPECT_EQ(requeue(of({again})), 1);
  EXPECT_EQ(deliver_due().size(), 2u);
  const auto state_of = [&](const std::string& id) {
    const auto deliveries = life(id).deliveries;
    EXPECT_EQ(deliveries.size(), 1u) << id;
    return deliveries.empty() ? DeliveryInfo{} : deliveries.front();
  };
  for (const bool tombstones : {true, false}) {
    if (!tombstones) {
      pass_all();
      EXPECT_EQ(value_of(store_->prune({feed_}, {}, 100, false)), 4);
    }
    const auto discarded = state_of(dropped);
    EXPECT_EQ(discarded.state, "discarded");
    EXPECT_EQ(discarded.reason, "discarded");
    EXPECT_EQ(discarded.closed_by, "ana@desk");
    EXPECT_EQ(discarded.closed_reason, "said so");
    EXPECT_EQ(discarded.replaced_by, "");
    const auto replaced = state_of(old_id);
    EXPECT_EQ(replaced.state, "discarded");
    EXPECT_EQ(replaced.reason, "replaced");
    EXPECT_EQ(replaced.replaced_by, new_id);
    EXPECT_EQ(state_of(new_id).replaces, old_id);
    EXPECT_EQ(state_of(new_id).state, tombstones ? "done" : "finished");
    EXPECT_EQ(state_of(again).state, tombstones ? "done" : "sent");
  }
  EXPECT_EQ(ids(listed(ListedState::sent)), std::vector<std::string>{again});
}

TEST_P(OperatorConformance, WhatWasThereBeforeItsSinkBeganIsSkipped) {
  const auto before = bench_->insert("1");
  const Feed late{"late", {"late"}, true, false};
  const std::vector<RouteFilter> to_late{{"late", {}, {}}};
  const auto epoch = take_over(*store_, late).epoch;
  const auto after = bench_->insert("1");
  SettleBatch batch;
  batch.position = bench_->after_all();
  const auto settled = store_->settle(late, epoch, batch);
  ASSERT_TRUE(settled) << settled.failure().what;
  const auto state_of = [&](const RecordPtr& record) {
    return value_of(operator_->life(record->id, to_late)).deliveries.at(0).state;
  };
  EXPECT_EQ(state_of(before), "skipped");
  EXPECT_EQ(state_of(after), "sent");
  EXPECT_EQ(ids(value_of(operator_->list(ListedState::sent, {}, to_late, 10))), std::vector<std::string>{after->id});
  take_over(*store_, late);
  EXPECT_EQ(state_of(before), "skipped") << "a second start is no beginning";

  // Forgotten, and named again.
  EXPECT_TRUE(value_of(operator_->forget("late", 10, act_)));
  batch.position = bench_->after_all();
  const auto again =
      store_->settle({"late", {"late"}, true, true}, take_over(*store_, {"late", {"late"}, true, true}).epoch, batch);
  ASSERT_TRUE(again) << again.failure().what;
  EXPECT_EQ(state_of(before), "sent");
}

TEST_P(OperatorConformance, RowsThatASinkHasNotPassedAreCounted) {
  EXPECT_EQ(value_of(operator_->holdings("events")).unsent, 0);
  for (int i = 0; i < 3; ++i) bench_->insert("1");
  EXPECT_EQ(value_of(operator_->holdings("events")).unsent, 3);
  EXPECT_EQ(value_of(operator_->holdings("nobody")).unsent, 0) << "it has no position";
  pass_all();
  EXPECT_EQ(value_of(operator_->holdings("events")).unsent, 0);
  bench_->insert("1");
  const auto holdings = value_of(operator_->holdings("events"));
  EXPECT_EQ(holdings.unsent, 1);
  EXPECT_FALSE(holdings.unsent_is_capped);
}

TEST_P(OperatorConformance, PausesAreSeenByEveryStore) {
  EXPECT_TRUE(value_of(operator_->pause("events", act_)));
  EXPECT_FALSE(value_of(operator_->pause("events", {"bob", "too"}))) << "the first one's words stand";
  const auto pauses = value_of(bench_->make_store()->pauses());
  ASSERT_EQ(pauses.size(), 1u);
  EXPECT_EQ(pauses[0].sink, "events");
  EXPECT_EQ(pauses[0].actor, "ana@desk");
  EXPECT_EQ(pauses[0].reason, "said so");
  EXPECT_LE(pauses[0].since, value_of(operator_->now()));
  ASSERT_TRUE(status().sinks.at("events").pause);
  EXPECT_EQ(status().sinks.at("events").pause->actor, "ana@desk");
  EXPECT_TRUE(value_of(operator_->resume("events", act_)));
  EXPECT_FALSE(value_of(operator_->resume("events", act_)));
  EXPECT_TRUE(value_of(store_->pauses()).empty());
  EXPECT_FALSE(status().sinks.at("events").pause);
}

TEST_P(OperatorConformance, DeadLettersAreCountedByOwner) {
  auto a = dead(bench_->insert("1")), b = dead(bench_->insert("2")), c = dead(bench_->insert("3"));
  a.owner = b.owner = "billing";
  park({a, b, c, waiting(bench_->insert("4"))});
  EXPECT_EQ(status().sinks.at("events").dead_by_owner, (std::map<std::string, std::int64_t>{{"billing", 2}, {"", 1}}));
}

TEST_P(OperatorConformance, AForgottenSinkLeavesNothing) {
  const auto records = bury(5);
  park({waiting(bench_->insert("6"), 1h)});
  pass_all();
  EXPECT_TRUE(value_of(operator_->pause("events", act_)));
  const auto holdings = value_of(operator_->holdings("events"));
  EXPECT_TRUE(holdings.position);
  EXPECT_TRUE(holdings.paused);
  EXPECT_EQ(holdings.waiting, 1);
  EXPECT_EQ(holdings.dead, 5);
  EXPECT_FALSE(value_of(operator_->forget("events", 4, act_)));
  EXPECT_TRUE(value_of(operator_->forget("events", 4, act_)));
  const auto left = value_of(operator_->holdings("events"));
  EXPECT_FALSE(left.position);
  EXPECT_FALSE(left.paused);
  EXPECT_EQ(left.waiting + left.dead + left.finished, 0);
  SettleBatch batch;
  batch.position = bench_->after_all();
  EXPECT_FALSE(try_settle(batch)) << "a relay that still works for it is fenced";
  take_over(*store_, feed_);
  EXPECT_EQ(listed(ListedState::pending).size(), 6u) << "a sink of that name begins anew";
}

// A relay parks what holds a key, and what waits behind it, while people discard and requeue, and retention deletes,
// what holds it. Each key has one round only: nothing later wakes what was forgotten.
TEST_P(OperatorConformance, NobodyIsForgottenBetweenRelayOperatorAndRetention) {
  constexpr int kKeys = 60;
  const auto beside = [](auto step) {
    return std::jthread([step](const std::stop_token& stop) {
      for (int n = 0; !stop.stop_requested(); ++n) step(n);
    });
  };
  const auto own = bench_->make_operator();
  const auto housekeeper = bench_->make_store();
  auto people = beside([&](int n) {
    auto walk = own->begin_walk({});
    if (!walk) return;
    static_cast<void>(n % 2 == 0 ? own->discard(*walk, 1, act_) : own->requeue(*walk, 1'000, 1, act_));
  });
  auto retention = beside([&](int) { static_cast<void>(housekeeper->prune({feed_}, {{}, 0s}, 1, false)); });
  for (int key = 0; key < kKeys; ++key) {
    const auto head = bench_->insert(std::to_string(key)), next = bench_->insert(std::to_string(key));
    SettleBatch batch;
    batch.position = bench_->after_all();
    batch.parks = {dead(head, true)};
    settle(batch);
    batch.parks = {behind(next)};
    settle(batch);
  }
  for (auto* thread : {&people, &retention}) {
    thread->request_stop();
    thread->join();
  }
  requeue({}, 1'000);
  deliver_due();
  EXPECT_EQ(parking().counts.waiting, 0);
  EXPECT_EQ(parking().counts.dead, 0);
}

}  // namespace outbox::test
