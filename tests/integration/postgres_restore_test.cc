// A dump restored into another cluster, whose transaction ids begin anew: from PostgreSQL 15 into the newest.
#include <set>

#include "integration/postgres_relay.h"
#include "support/child_process.h"

namespace outbox::test {
namespace {

class PostgresRestore : public testing::Test {
 protected:
  void SetUp() override {
    OUTBOX_REQUIRE_SERVICE(old_server, Service::postgresql);
    OUTBOX_REQUIRE_SERVICE(new_server, Service::postgresql_newest);
    old_ = std::make_unique<PostgresDatabase>(old_server);
    new_ = std::make_unique<PostgresDatabase>(new_server);
    must(init_postgres(old_->url(), {}));
  }

  std::string send(PostgresDatabase& database, const std::string& key) {
    return *database.query("select outbox_send('order', $1, 'T', '{}')", {key}).at(0).at(0);
  }

  void restore() {
    TempDir folder;
    const auto dump = folder.file("dump.sql");
    ChildProcess out({"pg_dump", "--no-owner", "--file", dump, old_->url()});
    ASSERT_TRUE(out.wait(std::chrono::minutes(2)).value_or(ExitStatus{}).succeeded()) << out.standard_error();
    ChildProcess in({"psql", "-q", "-v", "ON_ERROR_STOP=1", "-f", dump, new_->url()});
    ASSERT_TRUE(in.wait(std::chrono::minutes(2)).value_or(ExitStatus{}).succeeded()) << in.standard_error();
  }
  // Makes the transaction ids of the old cluster mean nothing in the new one, in either direction.
  void shift_ids(const std::string& by) {
    const auto shifted = [&](const std::string& snapshot) {
      const auto end = "(pg_snapshot_xmax(" + snapshot + ")::text::bigint + " + by + ")::text";
      return snapshot + " = (" + end + " || ':' || " + end + " || ':')::pg_snapshot";
    };
    old_->execute("update outbox set xid = (xid::text::bigint + " + by + ")::text::xid8; update outbox_position set " +
                  shifted("s1") + ", " + shifted("s2"));
  }

  std::unique_ptr<PostgresDatabase> old_, new_;
};

TEST_F(PostgresRestore, NothingIsLostAndNothingSettledComesAgain) {
  std::set<std::string> expected;
  {
    PostgresRelay relay(old_->url(), {}), slow(old_->url(), {}, "slow");
    for (int i = 0; i < 10; ++i) send(*old_, "1");
    EXPECT_EQ(relay.drain(4).size(), 10u);
    EXPECT_EQ(slow.step(4).size(), 4u);  // stands inside a window
    for (int i = 0; i < 3; ++i) expected.insert(send(*old_, "1"));
  }
  shift_ids("1000000000");
  restore();
  // The application writes on before the relay comes.
  expected.insert(send(*new_, "1"));
  PostgresRelay relay(new_->url(), {});
  const auto ids = ids_of(relay.drain(2));
  EXPECT_EQ(std::set<std::string>(ids.begin(), ids.end()), expected);
  EXPECT_EQ(ids.size(), expected.size());
  // The slow one had settled 4 of 10, and comes later.
  const auto last = send(*new_, "1");
  PostgresRelay slow(new_->url(), {}, "slow");
  const auto rest = slow.drain(3);
  EXPECT_EQ(rest.size(), 6u + expected.size() + 1);
  for (std::size_t i = 1; i < rest.size(); ++i) EXPECT_LT(rest[i - 1]->seq, rest[i]->seq);
  EXPECT_EQ(ids_of(relay.drain()), std::vector<std::string>{last});
}

TEST_F(PostgresRestore, OldIdsThatAreGivenOutAgainMeanNothing) {
  std::string undelivered;
  {
    PostgresRelay relay(old_->url(), {});
    for (int i = 0; i < 10; ++i) send(*old_, "1");
    EXPECT_EQ(relay.drain().size(), 10u);
    undelivered = send(*old_, "1");
  }
  restore();
  PostgresRelay relay(new_->url(), {});
  EXPECT_EQ(ids_of(relay.drain()), std::vector<std::string>{undelivered});
  // Started again in the same cluster it re-bases no more.
  relay.start();
  EXPECT_TRUE(relay.drain().empty());
  EXPECT_EQ(must(relay.store().prune({relay.feed()}, {0s, {}}, 100, false)), 11);
}

TEST_F(PostgresRestore, ATombstoneKeepsItsMessageAway) {
  {
    PostgresRelay relay(old_->url(), {});
    send(*old_, "1");
    const auto page = relay.step(10, false);
    SettleBatch batch;
    Park park;
    park.record = page.at(0);
    park.sink = "events";
    batch.parks = {park};
    relay.settle(batch);
    SettleBatch done;
    done.updates.push_back({must(relay.store().due("events", {}, 1, 1, {})).at(0).deliveries.at(0).row,
                            ParkedUpdate::Kind::done,
                            0,
                            {},
                            false,
                            "",
                            ""});
    relay.settle(done);
  }
  restore();
  PostgresRelay relay(new_->url(), {});
  EXPECT_EQ(must(relay.store().prune({relay.feed()}, {}, 100, false)), 0) << "the position has not passed it";
  const auto page = relay.drain();
  ASSERT_EQ(page.size(), 1u);
  EXPECT_EQ(must(relay.store().page_facts("events", {}, {page[0]->id})).known_messages.size(), 1u);
  EXPECT_EQ(must(relay.store().prune({relay.feed()}, {}, 100, false)), 1);
}

}  // namespace
}  // namespace outbox::test
