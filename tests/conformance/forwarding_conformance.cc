#include "conformance/forwarding_conformance.h"

namespace outbox::test {

namespace {

template <class T>
T value_of(Result<T> result) {
  if (!result) ADD_FAILURE() << result.failure().what;
  return result ? std::move(*result) : T{};
}

std::vector<std::string> ids(const std::vector<DeadLetter>& dead) {
  std::vector<std::string> result;
  for (const DeadLetter& each : dead) result.push_back(each.record->id);
  return result;
}

std::vector<std::string> ids(const std::vector<RecordPtr>& records) {
  std::vector<std::string> result;
  for (const RecordPtr& each : records) result.push_back(each->id);
  return result;
}

}  // namespace

void ForwardingConformance::SetUp() {
  OperatorConformance::SetUp();
  if (!bench_) return;
  forwarding_ = bench_->make_forwarding();
  ASSERT_NE(forwarding_, nullptr);
  bench_->lease("r1", kForwardingFeed);
  forwarding_epoch_ = value_of(forwarding_->take_over("r1"));
}

std::vector<DeadLetter> ForwardingConformance::unforwarded(const DeathPlace& after, std::size_t max_rows,
                                                           std::size_t max_bytes) {
  return value_of(forwarding_->next(after, max_rows, max_bytes));
}

std::vector<std::string> ForwardingConformance::unforwarded_ids() { return ids(unforwarded()); }

void ForwardingConformance::mark(const std::vector<DeadLetter>& dead, const std::string& refusal) {
  std::vector<Forwarded> marks;
  for (const DeadLetter& each : dead) marks.push_back({each.place.row, each.place.died_at, refusal});
  const auto marked = forwarding_->mark(forwarding_epoch_, marks);
  ASSERT_TRUE(marked) << marked.failure().what;
}

TEST_P(ForwardingConformance, ADeadLetterHasAllThatItsCopyNeeds) {
  const auto record = bench_->insert("1");
  Park dead_one = dead(record);
  dead_one.attempts = 3;
  dead_one.reason = "http_422";
  dead_one.error = "no such street";
  dead_one.owner = "billing";
  park({dead_one, waiting(bench_->insert("2"))});
  const auto found = unforwarded();
  ASSERT_EQ(found.size(), 1u);
  const DeadLetter& one = found.front();
  EXPECT_EQ(one.record->id, record->id);
  EXPECT_EQ(one.record->payload, record->payload);
  EXPECT_EQ(one.record->key, record->key);
  EXPECT_EQ(one.sink, "events");
  EXPECT_EQ(one.attempts, 3);
  EXPECT_EQ(one.reason, "http_422");
  EXPECT_EQ(one.error, "no such street");
  EXPECT_EQ(one.owner, "billing");
  EXPECT_EQ(one.place.died_at, only(record->id).changed_at);
}

TEST_P(ForwardingConformance, TheyComeInTheOrderOfDeathPageByPage) {
  const auto first = bury(3);
  const auto second = bury(2);
  auto expected = ids(first);
  for (const auto& each : ids(second)) expected.push_back(each);
  EXPECT_EQ(unforwarded_ids(), expected);
  std::vector<std::string> walked;
  DeathPlace after;
  for (auto page = unforwarded(after, 2); !page.empty(); page = unforwarded(after, 2)) {
    EXPECT_LE(page.size(), 2u);
    for (const auto& id : ids(page)) walked.push_back(id);
    after = page.back().place;
  }
  EXPECT_EQ(walked, expected);
  EXPECT_EQ(unforwarded({}, 100, 1).size(), 1u) << "a page holds no more than one body beyond its bytes";
}

TEST_P(ForwardingConformance, WhatIsMarkedDoesNotComeAgain) {
  const auto records = bury(3);
  EXPECT_EQ(value_of(forwarding_->left()), 3);
  const auto found = unforwarded();
  mark({found.at(1)});
  EXPECT_EQ(unforwarded_ids(), (std::vector<std::string>{records[0]->id, records[2]->id}));
  mark({found.at(0)}, "too_large: 2 MB");
  EXPECT_EQ(value_of(forwarding_->left()), 1);
  // Another relay's connection sees the same.
  auto other = bench_->make_forwarding();
  EXPECT_EQ(ids(value_of(other->next({}, 100, 1 << 20))), (std::vector<std::string>{records[2]->id}));
  // A dead letter stays one.
  EXPECT_EQ(listed(ListedState::dead).size(), 3u);
}

TEST_P(ForwardingConformance, WhatDiesAgainIsForwardedAgain) {
  const auto record = bury(1).front();
  const auto first = unforwarded();
  mark(first);
  EXPECT_TRUE(unforwarded().empty());
  EXPECT_EQ(requeue(), 1);
  EXPECT_TRUE(unforwarded().empty()) << "it waits";
  const auto runs = due();
  ASSERT_EQ(runs.size(), 1u);
  update(runs.front().deliveries.front().row, ParkedUpdate::Kind::dead, {}, false, 1);
  const auto again = unforwarded();
  ASSERT_EQ(again.size(), 1u);
  // A mark of the first death that comes late is none of the second.
  mark(first);
  EXPECT_EQ(unforwarded_ids(), (std::vector<std::string>{record->id}));
  mark(again);
  EXPECT_TRUE(unforwarded().empty());
}

TEST_P(ForwardingConformance, WhatIsDiscardedBeforeIsNotForwarded) {
  bury(2);
  const auto found = unforwarded();
  EXPECT_EQ(discard(), 2);
  EXPECT_TRUE(unforwarded().empty());
  EXPECT_EQ(value_of(forwarding_->left()), 0);
  mark(found);  // was on its way: nothing happens
  EXPECT_TRUE(listed(ListedState::dead).empty());
}

TEST_P(ForwardingConformance, AnOlderForwarderMarksNothing) {
  bury(1);
  const auto found = unforwarded();
  auto other = bench_->make_forwarding();
  EXPECT_GT(value_of(other->take_over("r1")), forwarding_epoch_);
  const auto marked =
      forwarding_->mark(forwarding_epoch_, {{found.front().place.row, found.front().place.died_at, {}}});
  ASSERT_FALSE(marked);
  EXPECT_EQ(marked.failure().kind, FailureKind::fenced);
  EXPECT_EQ(unforwarded().size(), 1u);
}

}  // namespace outbox::test
