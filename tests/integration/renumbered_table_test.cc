// A table whose numbering is set back (TRUNCATE … RESTART IDENTITY, ALTER … RESTART): new rows have the numbers of old
// ones, and every one of them arrives.
#include "integration/daemon_fixture.h"
#include "integration/postgres_relay.h"

namespace outbox::test {
namespace {

using namespace std::chrono_literals;

class RenumberedTable : public PostgresTest {
 protected:
  void SetUp() override {
    PostgresTest::SetUp();
    if (database_) init();
  }

  std::vector<std::string> send_some(int count) {
    std::vector<std::string> ids;
    for (int i = 0; i < count; ++i) ids.push_back(send(std::to_string(i)));
    return ids;
  }
  void restart_numbers() { database_->execute("alter table outbox alter column seq restart with 1"); }

  // The first row is not settled, the others are, as a relay leaves it that was killed.
  void settle_all_but_the_first(PostgresRelay& relay) {
    SettleBatch batch;
    const auto records = relay.step(1000, false);
    batch.position = relay.state().start;
    for (std::size_t i = 1; i < records.size(); ++i)
      batch.position->ahead.push_back({records[i]->seq, records[i]->xid});
    relay.settle(batch);
  }
  std::string pairs() {
    return database_->value(
        "select string_agg(o.id::text, ' ' order by o.id) from outbox_position p cross join lateral"
        " unnest(p.ahead, p.ahead_xid) as a (seq, xid) left join outbox o on o.seq = a.seq and o.xid = a.xid");
  }
  std::string unsent(PostgresRelay& relay) { return std::to_string(must(relay.store().status({relay.feed()})).unsent); }
};

TEST_P(RenumberedTable, WhatIsAheadIsARowAndNotANumber) {
  PostgresRelay relay(url(), {});
  relay.start();
  send_some(5);
  settle_all_but_the_first(relay);
  EXPECT_EQ(unsent(relay), "1");
  database_->execute("truncate outbox restart identity");
  const auto ids = send_some(5);
  EXPECT_EQ(unsent(relay), "5");
  EXPECT_EQ(database_->value("select count(*) from outbox o join outbox_position p on o.seq = any(p.ahead)"), "4");
  const auto ahead = relay.state().start.ahead;
  for (const auto& record : relay.step(1000, false)) {
    EXPECT_EQ(std::count(ahead.begin(), ahead.end(), RowRef{record->seq, record->xid}), 0) << record->id;
  }
}

// Before migration 0006 an entry was a number alone.
TEST_P(RenumberedTable, EntriesOfBeforeAreLookedUp) {
  PostgresRelay relay(url(), {});
  relay.start();
  auto ids = send_some(4);
  settle_all_but_the_first(relay);
  const auto settled = pairs();
  database_->execute("update outbox_position set ahead_xid = '{}', ahead = ahead || 4711::bigint");
  EXPECT_EQ(unsent(relay), "4") << "until a relay has looked them up, they count for nothing";
  relay.start();
  EXPECT_EQ(pairs(), settled) << "the row 4711 is gone, and needs no entry";
  ASSERT_EQ(relay.state().start.ahead.size(), 3u);
  EXPECT_EQ(relay.state().start.ahead.front().xid,
            std::stoull(database_->value("select xid from outbox where seq = 2")));
  EXPECT_EQ(unsent(relay), "1");
}

TEST_P(RenumberedTable, AnEntryOfBeforeThatMayMeanTwoRowsIsLetGo) {
  PostgresRelay relay(url(), {});
  relay.start();
  send_some(4);
  settle_all_but_the_first(relay);
  restart_numbers();
  send_some(2);
  database_->execute("update outbox_position set ahead_xid = '{}'");
  relay.start();
  ASSERT_EQ(relay.state().start.ahead.size(), 2u);
  EXPECT_EQ(relay.state().start.ahead.front().seq, 3);
}

TEST_P(RenumberedTable, TablesOfAnOlderVersionAreRefused) {
  PostgresRelay relay(url(), {});
  database_->execute("alter table outbox_delivery drop column long_id");
  const auto taken = relay.store().take_over(relay.feed(), "relay");
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.failure().kind, FailureKind::invalid);
  EXPECT_NE(taken.failure().what.find("outboxd init"), std::string::npos) << taken.failure().what;
}

// A page begins behind a number: rows that share one are never divided.
TEST_P(RenumberedTable, RowsOfOneNumberComeOnOnePage) {
  PostgresRelay relay(url(), {});
  auto ids = send_some(4);
  for (int i = 0; i < 2; ++i) {
    restart_numbers();
    for (const auto& id : send_some(3)) ids.push_back(id);
  }
  for (const std::size_t page : {1, 2, 4}) {
    PostgresRelay reader(url(), {}, "page" + std::to_string(page));
    reader.start();
    std::vector<std::string> came;
    for (auto records = reader.step(page); !records.empty(); records = reader.step(page)) {
      for (const auto& id : ids_of(records)) came.push_back(id);
      reader.start();  // as after a crash
    }
    std::sort(came.begin(), came.end());
    std::sort(ids.begin(), ids.end());
    EXPECT_EQ(came, ids) << "pages of " << page;
  }
}

INSTANTIATE_TEST_SUITE_P(Postgres, RenumberedTable, both_servers(), server_name);

// The daemon, with one message that hangs and twenty that overtook it.
class RenumberedDaemon : public DaemonTest {
 protected:
  void run_with_some_ahead() {
    stub_.set_script([](const StubRequest& request) {
      return StubReply{.manner = request.body == "[\"slow\"]" ? StubReply::Manner::hang : StubReply::Manner::whole};
    });
    configure(http_sink("events", stub_), "  - { sink: events }\n");
    send("slow", "T", "[\"slow\"]");
    for (int i = 0; i < 20; ++i) send("before" + std::to_string(i));
    relay_ = daemon_.start();
    ASSERT_TRUE(eventually(30s, [&] {
      return database_->value("select coalesce(max(cardinality(ahead)), 0) from outbox_position") == "20";
    })) << relay_->standard_error();
  }

  // Of each new row, whose numbers begin again at 1.
  void truncate_and_send() {
    database_->execute("truncate outbox restart identity");
    for (int i = 0; i < 25; ++i) sent_.push_back(send("after" + std::to_string(i)));
    ASSERT_EQ(database_->value("select min(seq) || ' ' || max(seq) from outbox"), "1 25");
  }

  bool all_arrive() {
    return eventually(30s, [&] {
      const auto came = ids_of(stub_.requests());
      return std::all_of(sent_.begin(), sent_.end(),
                         [&](const std::string& id) { return std::count(came.begin(), came.end(), id) == 1; });
    });
  }
  std::string left() {
    return database_->value("select s1 || ' ' || coalesce(s2::text, '') || ' ' || ahead::text from outbox_position") +
           relay_->standard_error();
  }

  HttpStub stub_;
  std::unique_ptr<ChildProcess> relay_;
  std::vector<std::string> sent_;
};

TEST_F(RenumberedDaemon, TruncatedWhileItRuns) {
  run_with_some_ahead();
  truncate_and_send();
  EXPECT_TRUE(all_arrive()) << left();
  stub_.release();
  EXPECT_EQ(stop(*relay_), 0) << relay_->standard_error();
}

TEST_F(RenumberedDaemon, TruncatedWhileItIsStopped) {
  run_with_some_ahead();
  stub_.release();
  EXPECT_EQ(stop(*relay_), 0) << relay_->standard_error();
  truncate_and_send();
  relay_ = daemon_.start();
  EXPECT_TRUE(all_arrive()) << left();
  EXPECT_EQ(stop(*relay_), 0) << relay_->standard_error();
}

TEST_F(RenumberedDaemon, TruncatedAfterAKill) {
  run_with_some_ahead();
  relay_->kill_and_wait();
  stub_.release();
  truncate_and_send();
  relay_ = daemon_.start();
  EXPECT_TRUE(all_arrive()) << left();
  EXPECT_EQ(stop(*relay_), 0) << relay_->standard_error();
}

}  // namespace
}  // namespace outbox::test
