// Retention beside a relay that settles: each waits for the other, so that none misses a row of the other's.
#include <future>

#include "integration/postgres_relay.h"
#include "store/postgres/leases.h"
#include "support/eventually.h"

namespace outbox::test {
namespace {

using namespace std::chrono_literals;

constexpr const char* kPausedCommit =
    "create function wait_before_commit() returns trigger language plpgsql as"
    " $$ begin perform pg_advisory_xact_lock(7); return null; end $$;"
    "create constraint trigger wait_before_commit after insert on outbox_delivery deferrable initially deferred"
    " for each row execute function wait_before_commit();";

class PostgresPrune : public PostgresTest {
 protected:
  void SetUp() override {
    PostgresTest::SetUp();
    if (IsSkipped()) return;
    init();
    table_ = must(inspect_postgres_table(url(), {})).table;
    must(make_postgres_leases(url(), table_)->renew("one", "", {feed_.name}, 1h));
    store_ = make_postgres_store(url(), table_);
    state_ = must(store_->take_over(feed_, "one"));
  }

  Park parked(const std::string& id, DeliveryState state) const {
    auto record = std::make_shared<Record>();
    record->id = id;
    record->key = "order:1";
    record->payload = "{}";
    record->created_at = state_.database_now;
    Park park;
    park.record = std::move(record);
    park.sink = feed_.name;
    park.state = state;
    park.holds_key = state == DeliveryState::dead;
    park.reason = park.holds_key ? "http_422" : "behind_key";
    return park;
  }

  // The position passes all that is there by now.
  SettleBatch batch_of(const Park& park) {
    SettleBatch batch;
    batch.parks = {park};
    batch.position = state_.start;
    batch.position->from = database_->value("select pg_current_snapshot()");
    return batch;
  }
  Result<void> settle(const SettleBatch& batch) { return store_->settle(feed_, state_.epoch, batch); }

  std::string waiting_for_locks(const std::string& kind) {
    return database_->value("select count(*) from pg_stat_activity where wait_event_type = 'Lock' and wait_event " +
                            kind + " 'advisory' and datname = current_database()");
  }

  const Feed feed_{"events", {"events"}, true, true};
  TableMapping table_;
  std::unique_ptr<Store> store_;
  FeedState state_;
};

TEST_P(PostgresPrune, AFollowerThatIsBeingParkedIsNotForgotten) {
  must(settle(batch_of(parked("head", DeliveryState::dead))));
  const auto batch = batch_of(parked("next", DeliveryState::waiting));
  database_->execute(kPausedCommit);
  database_->execute("select pg_advisory_lock(7)");
  auto settled = std::async(std::launch::async, [&] { return settle(batch); });
  EXPECT_TRUE(eventually(30s, [&] { return waiting_for_locks("=") == "1"; }));
  auto pruned = std::async(std::launch::async, [&] {
    return make_postgres_store(url(), table_)->prune({feed_}, {{}, 0s}, 100, false);
  });
  EXPECT_TRUE(eventually(
      30s, [&] { return pruned.wait_for(0s) == std::future_status::ready || waiting_for_locks("<>") != "0"; }));
  database_->execute("select pg_advisory_unlock(7)");
  must(settled.get());
  EXPECT_EQ(must(pruned.get()), 1);
  const auto due = must(store_->due("events", {}, 10, 10, {}));
  ASSERT_EQ(due.size(), 1u);
  EXPECT_EQ(due[0].deliveries.at(0).record->id, "next");
}

INSTANTIATE_TEST_SUITE_P(Servers, PostgresPrune, both_servers(), server_name);

}  // namespace
}  // namespace outbox::test
