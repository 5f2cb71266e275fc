#include "support/memory_outbox.h"

#include <gtest/gtest.h>

namespace outbox::test {
namespace {

Record message(const std::string& id, const std::string& aggregate_id) {
  Record record;
  record.id = id;
  record.aggregate_type = "order";
  record.aggregate_id = aggregate_id;
  record.type = "Confirmed";
  record.payload = "{}";
  return record;
}

const Feed kFeed{"sink", {"sink"}, true, true};

Park waiting(const RecordPtr& record, Time next) {
  Park park;
  park.record = record;
  park.sink = "sink";
  park.next_attempt = next;
  park.charged = true;
  return park;
}

TEST(MemoryOutbox, ReadsBehindTheSettledPosition) {
  MemoryOutbox outbox;
  for (const char* id : {"a", "b", "c"}) outbox.insert(message(id, "1"));
  auto store = outbox.store();
  auto state = store->take_over(kFeed, "relay");
  ASSERT_TRUE(state);
  SettleBatch batch;
  batch.position = Position{{}, {}, 1, {{3, 0}}};
  ASSERT_TRUE(store->settle(kFeed, state->epoch, batch));
  EXPECT_EQ(outbox.unsettled("sink"), 1u);

  auto source = outbox.source();
  ASSERT_TRUE(source->open(outbox.position("sink")));
  auto page = source->fetch(10, 1 << 20);
  ASSERT_TRUE(page);
  ASSERT_EQ(page->records.size(), 2u);  // what was settled ahead comes too: the core knows it
  EXPECT_EQ(page->records[0]->id, "b");
}

TEST(MemoryOutbox, AnOlderOwnerSettlesNothing) {
  MemoryOutbox outbox;
  auto store = outbox.store();
  const auto old = store->take_over(kFeed, "old");
  ASSERT_TRUE(store->take_over(kFeed, "new"));
  SettleBatch batch;
  batch.position = Position{{}, {}, 7, {}};
  const auto result = store->settle(kFeed, old->epoch, batch);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.failure().kind, FailureKind::fenced);
  EXPECT_EQ(outbox.position("sink").seq, 0);
}

TEST(MemoryOutbox, AParkedHeadHoldsItsKeyUntilItIsDue) {
  MemoryOutbox outbox;
  auto store = outbox.store();
  const auto state = store->take_over(kFeed, "relay");
  const auto first = std::make_shared<const Record>(message("a", "1"));
  SettleBatch batch;
  batch.parks.push_back(waiting(first, outbox.now() + 1h));
  ASSERT_TRUE(store->settle(kFeed, state->epoch, batch));
  EXPECT_TRUE(store->due("sink", {}, 10, 10, {})->empty());
  outbox.advance(2h);
  EXPECT_EQ(store->due("sink", {}, 10, 10, {})->size(), 1u);
}

TEST(MemoryOutbox, AFaultMakesTheCallFail) {
  MemoryOutbox outbox;
  outbox.set_fault([](const std::string& call) -> Result<void> {
    if (call == "take_over") return Failure{FailureKind::unavailable, "down"};
    return {};
  });
  EXPECT_FALSE(outbox.store()->take_over(kFeed, "relay"));
  EXPECT_TRUE(outbox.store()->parking("sink", {}));
}

}  // namespace
}  // namespace outbox::test
