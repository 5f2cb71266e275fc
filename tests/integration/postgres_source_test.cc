#include <atomic>
#include <map>
#include <random>
#include <set>
#include <thread>

#include "integration/postgres_relay.h"
#include "support/eventually.h"

namespace outbox::test {
namespace {

using namespace std::chrono_literals;

class PostgresSource : public PostgresTest {
 protected:
  void SetUp() override {
    PostgresTest::SetUp();
    if (database_) init();
  }

  // Of the 20,000 rows that are there, as many as were `sent` before.
  void expect_status_reads_little(std::size_t sent) {
    Feed feed;
    TableMapping table;
    {
      PostgresRelay relay(url(), {});
      feed = relay.feed();
      table = relay.shape().table;
      for (std::size_t left = sent - sent_; left > 0;) left -= relay.step(left).size();
      sent_ = sent;
    }
    // The server counts what a session has read once it has ended.
    const auto alone = [&] {
      return database_->value("select count(*) from pg_stat_activity where datname = current_database()") == "1";
    };
    ASSERT_TRUE(eventually(30s, alone));
    const std::string rows_read =
        "select seq_tup_read + idx_tup_fetch from pg_stat_user_tables where relname = 'outbox'";
    const auto before = std::stoll(database_->value(rows_read));
    EXPECT_EQ(must(make_postgres_store(url(), table)->status({feed})).unsent, static_cast<std::int64_t>(20000 - sent));
    ASSERT_TRUE(eventually(30s, alone));
    EXPECT_LT(std::stoll(database_->value(rows_read)), before + 100) << sent << " sent";
  }

 private:
  std::size_t sent_ = 0;
};

// Case B019.
TEST_P(PostgresSource, ARowThatCommitsLateIsNotSkipped) {
  PostgresRelay relay(url(), {});
  const auto early = std::unique_ptr<PGconn, void (*)(PGconn*)>(PQconnectdb(url().c_str()), PQfinish);
  const auto run = [&](const char* sql) { PQclear(PQexec(early.get(), sql)); };
  run("begin");
  run("select outbox_send('order', '1', 'Early', '{}')");
  const auto second = send("2");
  EXPECT_EQ(ids_of(relay.drain()), std::vector<std::string>{second});
  run("commit");
  const auto late = relay.drain();
  ASSERT_EQ(late.size(), 1u);
  EXPECT_EQ(late[0]->type, "Early");
  EXPECT_LT(late[0]->seq, 2);
  EXPECT_TRUE(relay.drain().empty());
}

// Case B021: gaps cost nothing, neither a wait nor a page.
TEST_P(PostgresSource, RolledBackRowsLeaveNoTrace) {
  PostgresRelay relay(url(), {});
  const auto rolled_back = [&] { database_->execute("begin; select outbox_send('o', '1', 'T', '{}'); rollback"); };
  const auto first = send("1");
  EXPECT_EQ(ids_of(relay.step(100)), std::vector<std::string>{first});
  rolled_back();
  const auto third = send("1");
  EXPECT_EQ(ids_of(relay.step(100)), std::vector<std::string>{third});
  for (int i = 0; i < 50; ++i) rolled_back();
  const auto last = send("1");
  EXPECT_EQ(ids_of(relay.step(100)), std::vector<std::string>{last});
}

// Case B023.
TEST_P(PostgresSource, APageOfMissingRowsDoesNotStopIt) {
  for (int i = 0; i < 100; ++i) send("1");
  database_->execute("begin; select outbox_send('o', '1', 'T', '{}') from generate_series(1, 1000); rollback");
  for (int i = 0; i < 100; ++i) send("1");
  PostgresRelay relay(url(), {});
  EXPECT_EQ(relay.step(100).size(), 100u);
  EXPECT_EQ(relay.step(100).size(), 100u);
  EXPECT_TRUE(relay.step(100).empty());
}

// Case B025: rows loaded from a cluster whose transaction ids were far ahead.
TEST_P(PostgresSource, RowsWithIdsOfAnotherClusterAreDelivered) {
  const auto early = send("1");
  PostgresRelay relay(url(), {});
  EXPECT_EQ(relay.drain().size(), 1u);
  database_->execute(
      "insert into outbox (xid, aggregatetype, aggregateid, type, payload)"
      " select '1000000000', 'order', '2', 'Old', '{}' from generate_series(1, 3)");
  relay.start();
  EXPECT_EQ(relay.drain().size(), 3u);
  send("3");
  EXPECT_EQ(relay.drain().size(), 1u);
}

TEST_P(PostgresSource, ARestartInsideAWindowGoesOnWhereItWas) {
  for (int i = 0; i < 10; ++i) send(std::to_string(i));
  PostgresRelay relay(url(), {});
  auto seen = ids_of(relay.step(4));
  for (int i = 10; i < 15; ++i) send(std::to_string(i));
  relay.start();
  EXPECT_FALSE(relay.state().start.to.empty());
  for (const auto& id : ids_of(relay.drain(4))) seen.push_back(id);
  EXPECT_EQ(seen.size(), 15u);
  EXPECT_EQ(std::set<std::string>(seen.begin(), seen.end()).size(), 15u);
}

TEST_P(PostgresSource, AResumedWindowWithNothingLeftDoesNotHideWhatCameAfter) {
  for (int i = 0; i < 4; ++i) send("1");
  PostgresRelay relay(url(), {});
  relay.step(2);
  database_->execute("delete from outbox where seq > 2");
  const auto after = send("1");
  relay.start();
  EXPECT_EQ(ids_of(relay.step(100)), std::vector<std::string>{after});
}

TEST_P(PostgresSource, LargeRowsComeInSmallPages) {
  const std::string large = "\"" + std::string(300'000, 'x') + "\"";
  for (int i = 0; i < 10; ++i) send("1", large);
  send("1");
  PostgresRelay relay(url(), {});
  std::size_t rows = 0;
  for (;;) {
    const auto page = relay.step(1000, true, 1u << 20);
    if (page.empty()) break;
    EXPECT_LE(page.size(), 4u);
    for (const auto& record : page) EXPECT_TRUE(++rows == 11 || record->payload == large);
  }
  EXPECT_EQ(rows, 11u);
}

TEST_P(PostgresSource, ARecordIsWhatWasEnqueued) {
  const std::string body = R"({"zebra":1,"alpha":2,"bb":3,"a":4,"a":5})";
  database_->query(
      "insert into outbox (id, aggregatetype, aggregateid, type, payload, headers, aggregate_version, schema_version,"
      " traceparent, created_at, not_before) values ('6ba7b810-9dad-11d1-80b4-00c04fd430c8', 'order', '47', 'Paid',"
      " $1::json, '{\"a\":[\"x\",\"y\"]}', 7, 2, 'tp', '2026-01-31 23:59:50.000001+00', 'infinity')",
      {body});
  database_->execute("insert into outbox (aggregatetype, aggregateid, type) values ('order', '48', 'Gone')");
  PostgresRelay relay(url(), {});
  const auto records = relay.drain();
  ASSERT_EQ(records.size(), 2u);
  const auto& record = *records[0];
  EXPECT_EQ(record.id, "6ba7b810-9dad-11d1-80b4-00c04fd430c8");
  EXPECT_EQ(record.key, "order:47");
  EXPECT_EQ(record.type, "Paid");
  EXPECT_EQ(record.payload, body);
  EXPECT_TRUE(record.payload_json);
  EXPECT_EQ(record.headers, R"({"a": ["x", "y"]})");
  EXPECT_EQ(record.aggregate_version, 7);
  EXPECT_EQ(record.schema_version, 2);
  EXPECT_EQ(record.traceparent, "tp");
  EXPECT_EQ(record.created_at, std::chrono::sys_days(std::chrono::year(2026) / 1 / 31) + 23h + 59min + 50s + 1us);
  EXPECT_EQ(record.not_before, kNever);
  EXPECT_GT(record.xid, 0u);
  EXPECT_TRUE(records[1]->payload_null);
  EXPECT_FALSE(records[1]->not_before);
}

// It is asked every few seconds for as long as the relay lives, however much the retention keeps and however large the
// window is that it is in.
TEST_P(PostgresSource, TheStatusDoesNotReadThroughWhatWasSent) {
  database_->execute(
      "insert into outbox (aggregatetype, aggregateid, type, payload)"
      " select 'order', i::text, 'Confirmed', '{}' from generate_series(1, 20000) i; analyze outbox");
  for (const std::size_t sent : {19990u, 20000u}) expect_status_reads_little(sent);
}

// Rows of a transaction that the last window saw in progress, of the open window, of a transaction that this one saw in
// progress, and of later ones.
TEST_P(PostgresSource, UnsentAreTheRowsThatNoPositionHasPassed) {
  PostgresRelay relay(url(), {});
  const auto unsent = [&] { return must(relay.store().status({relay.feed()})).unsent; };
  const auto open_transaction = [&] {
    auto session = std::unique_ptr<PGconn, void (*)(PGconn*)>(PQconnectdb(url().c_str()), PQfinish);
    PQclear(PQexec(session.get(), "begin; select outbox_send('order', '1', 'Late', '{}')"));
    return session;
  };
  const auto commit = [](const auto& session) { PQclear(PQexec(session.get(), "commit")); };
  const auto early = open_transaction();
  send("2");
  ASSERT_EQ(relay.drain().size(), 1u);
  EXPECT_EQ(unsent(), 0);
  commit(early);
  EXPECT_EQ(unsent(), 1);
  const auto late = open_transaction();
  for (int i = 0; i < 3; ++i) send("3");
  EXPECT_EQ(unsent(), 4);
  ASSERT_EQ(relay.step(2).size(), 2u);
  EXPECT_EQ(unsent(), 2);
  commit(late);
  for (int i = 0; i < 2; ++i) send("4");
  EXPECT_EQ(unsent(), 5);
  EXPECT_EQ(relay.drain().size(), 5u);
  EXPECT_EQ(unsent(), 0);
  for (int i = 0; i < 2; ++i) send("5");
  EXPECT_EQ(unsent(), 2);
  database_->execute(
      "update outbox_position set (ahead, ahead_xid) = (select array[seq], array[xid] from outbox order by seq desc"
      " limit 1)");
  EXPECT_EQ(unsent(), 1);
}

// Such a session stays read-only when the database is writable again.
TEST_P(PostgresSource, ASessionThatBeganReadOnlyIsLeft) {
  const std::string database = database_->value("select quote_ident(current_database())");
  const auto table = PostgresRelay(url(), {}).shape().table;
  database_->execute("alter database " + database + " set default_transaction_read_only = on");
  const auto store = make_postgres_store(url(), table);
  const auto refused = store->heartbeat({"relay", "[]", false});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.failure().kind, FailureKind::unavailable);
  database_->execute("alter database " + database + " reset default_transaction_read_only");
  EXPECT_TRUE(store->heartbeat({"relay", "[]", false}));
}

TEST_P(PostgresSource, ALostConnectionIsOpenedAgain) {
  PostgresRelay relay(url(), {});
  send("1");
  database_->query(
      "select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'outboxd %'"
      " and datname = current_database()");
  const auto broken = relay.source().fetch(10, 1000);
  ASSERT_FALSE(broken);
  EXPECT_EQ(broken.failure().kind, FailureKind::unavailable);
  const auto parking = relay.store().parking("events", {});
  ASSERT_FALSE(parking);
  EXPECT_EQ(parking.failure().kind, FailureKind::unavailable);
  relay.start();
  EXPECT_EQ(relay.drain().size(), 1u);
}

// Writers as they are in practice: they lock their aggregate and count its messages under the lock. Some draw a
// transaction id long before, use savepoints, roll back, or stay open for a while; the long ones write their own key
// first and a shared one last.
class Writer {
 public:
  Writer(const std::string& url, unsigned seed) : connection_(PQconnectdb(url.c_str()), PQfinish), random_(seed) {}

  void transaction(int index) {
    run("begin");
    if (chance(3)) run("select pg_current_xact_id()");
    const bool is_long = chance(40);
    if (is_long) message("own-" + std::to_string(index));
    if (is_long) run("select pg_sleep(0.3)");
    const int rows = 1 + static_cast<int>(random_() % 3);
    // In ascending order, so that writers do not lock each other out.
    std::set<int> keys;
    while (static_cast<int>(keys.size()) < rows) keys.insert(static_cast<int>(random_() % 20));
    for (const int key : keys) {
      const bool savepoint = chance(4);
      const bool undone = savepoint && chance(2);
      if (savepoint) run("savepoint s");
      message((key < 10 ? "k0" : "k") + std::to_string(key));
      if (undone) run("rollback to savepoint s");
    }
    run(chance(8) ? "rollback" : "commit");
  }

 private:
  bool chance(unsigned n) { return random_() % n == 0; }
  void message(const std::string& key) {
    run("insert into aggregate values ('" + key + "', 1) on conflict (key) do update set n = aggregate.n + 1");
    run("with m as (select gen_random_uuid() as id, n from aggregate where key = '" + key +
        "'), l as (insert into ledger select id, '" + key + "', n from m) select outbox_send('a', '" + key +
        "', 'T', n::text, id => m.id) from m");
  }
  void run(const std::string& sql) {
    PGresult* result = PQexec(connection_.get(), sql.c_str());
    const auto status = PQresultStatus(result);
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) ADD_FAILURE() << PQresultErrorMessage(result);
    PQclear(result);
  }

  std::unique_ptr<PGconn, void (*)(PGconn*)> connection_;
  std::mt19937 random_;
};

struct Reading {
  std::size_t page;
  double poll_seconds;
  bool restarts;
};

class PostgresWriters : public testing::TestWithParam<Reading> {};

TEST_P(PostgresWriters, NothingIsLostTwiceOrOutOfOrder) {
  OUTBOX_REQUIRE_SERVICE(server, Service::postgresql);
  PostgresDatabase database(server);
  must(init_postgres(database.url(), {}));
  database.execute(
      "create table aggregate (key text primary key, n bigint not null);"
      "create table ledger (id uuid, key text, n bigint)");
  std::atomic<int> running = 8;
  std::vector<std::jthread> writers;
  for (unsigned i = 0; i < 8; ++i) {
    writers.emplace_back([&, i] {
      Writer writer(database.url(), i + 1);
      for (int t = 0; t < 150; ++t) writer.transaction(static_cast<int>(i));
      --running;
    });
  }

  PostgresRelay relay(database.url(), {});
  std::map<std::string, long> last;
  std::set<std::string> seen;
  std::size_t twice = 0, inverted = 0, restarts = 0, pages = 0;
  for (bool last_round = false;;) {
    const auto page = relay.step(GetParam().page);
    for (const auto& record : page) {
      if (!seen.insert(record->id).second) ++twice;
      const long n = std::stol(record->payload);
      if (n <= last[record->key]) ++inverted;
      last[record->key] = n;
    }
    if (GetParam().restarts && ++pages % 7 == 0) {
      relay.start();
      ++restarts;
    }
    if (!page.empty()) continue;
    if (last_round) break;
    last_round = running == 0;
    // The pace of the polls decides how large the windows are.
    if (!last_round) database.query("select pg_sleep($1::float8)", {std::to_string(GetParam().poll_seconds)});
  }
  const auto committed = std::stoul(database.value("select count(*) from ledger"));
  EXPECT_GT(committed, 1000u);
  EXPECT_EQ(seen.size(), committed);
  EXPECT_EQ(database.value("select count(*) from ledger l where not exists (select from outbox o where o.id = l.id)"),
            "0");
  EXPECT_EQ(twice, 0u);
  EXPECT_EQ(inverted, 0u);
  EXPECT_TRUE(!GetParam().restarts || restarts > 10) << restarts;
}

INSTANTIATE_TEST_SUITE_P(Readings, PostgresWriters,
                         testing::Values(Reading{3, 0.2, false}, Reading{7, 0.5, true}, Reading{50, 0.005, false},
                                         Reading{5, 0.005, true}));

// A row that a policy hides when its turn comes would be passed as if it had been sent.
TEST_P(PostgresSource, RowLevelSecurityThatCanHideRowsIsRefused) {
  const std::string role = "hidden_" + database_->name();
  database_->execute("create role " + role +
                     " login; grant select, insert, update, delete on all tables in schema public to " + role);
  std::string of_role = url();
  of_role.replace(of_role.find("postgres@"), std::string("postgres").size(), role);
  PostgresRelay relay(of_role, {});
  database_->execute("alter table outbox enable row level security");
  send("1");
  const auto refused = inspect_postgres_table(of_role, {});
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.failure().what.find("alter role \"" + role + "\" bypassrls"), std::string::npos)
      << refused.failure().what;
  const auto page = relay.source().fetch(10, 1u << 20);
  ASSERT_FALSE(page) << "a relay that runs stops at it";
  EXPECT_NE(page.failure().what.find("row-level security"), std::string::npos) << page.failure().what;
  EXPECT_TRUE(inspect_postgres_table(url(), {})) << "the owner sees all rows";
  database_->execute("alter role " + role + " bypassrls");
  EXPECT_TRUE(inspect_postgres_table(of_role, {}));
  relay.start();
  EXPECT_EQ(relay.drain().size(), 1u);
  database_->execute("drop owned by " + role);
  database_->execute("drop role " + role);
}

INSTANTIATE_TEST_SUITE_P(Both, PostgresSource, both_servers(), server_name);

}  // namespace
}  // namespace outbox::test
