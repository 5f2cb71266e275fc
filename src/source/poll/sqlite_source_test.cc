#include "source/poll/sqlite_source.h"

#include <gtest/gtest.h>

#include "db/sqlite.h"
#include "support/paths.h"
#include "support/sqlite_restore.h"
#include "support/temp_dir.h"

namespace outbox {
namespace {

class SqliteSource : public testing::Test {
 protected:
  SqliteSource() : file_(folder_.file("shop.db")), shop_(open()) {
    run("PRAGMA synchronous=OFF");
    run(test::read_file(test::source_dir() / "sql/sqlite/0001_outbox.up.sql"));
    source_ = make_sqlite_source("sqlite:" + file_, {});
  }

  db::Sqlite open(Duration busy = 5s) {
    auto opened = db::Sqlite::open(file_, db::Sqlite::Mode::create, busy);
    EXPECT_TRUE(opened) << opened.failure().what;
    return std::move(*opened);
  }
  void run(const std::string& sql) {
    const auto done = shop_.script(sql);
    ASSERT_TRUE(done) << done.failure().what;
  }
  void insert(const std::string& id, const std::string& more = "") {
    run("INSERT INTO outbox (id, aggregatetype, aggregateid, type, payload" + std::string(more.empty() ? "" : ", ") +
        more.substr(0, more.find('=')) + ") VALUES ('" + id + "', 'order', '1', 'T', '{}'" +
        (more.empty() ? "" : ", " + more.substr(more.find('=') + 1)) + ")");
  }

  void start(const Position& position = {}) {
    const auto opened = source_->open(position);
    ASSERT_TRUE(opened) << opened.failure().what;
  }
  Page fetch(std::size_t records = 100, std::size_t bytes = 1 << 20) {
    auto page = source_->fetch(records, bytes);
    EXPECT_TRUE(page) << page.failure().what;
    return page ? std::move(*page) : Page{};
  }
  std::string ids(std::size_t records = 100, std::size_t bytes = 1 << 20) {
    std::string text;
    for (const auto& record : fetch(records, bytes).records) text += record->id;
    return text;
  }

  test::TempDir folder_;
  std::string file_;
  db::Sqlite shop_;
  std::unique_ptr<Source> source_;
};

TEST_F(SqliteSource, ReadsEachCommittedRowOnce) {
  insert("a");
  start();
  EXPECT_EQ(ids(), "a");
  EXPECT_EQ(ids(), "");
  run("BEGIN IMMEDIATE");
  insert("b");
  EXPECT_EQ(ids(), "");
  run("COMMIT");
  EXPECT_EQ(ids(), "b");
  EXPECT_EQ(ids(), "");
}

// B019, B021, B023 as far as one writer at a time can bring them about: rolled-back numbers are used again, deleted
// ones leave holes.
TEST_F(SqliteSource, NeitherRollbacksNorHolesStopIt) {
  start();
  insert("a");
  for (int i = 0; i < 50; ++i) {
    run("BEGIN IMMEDIATE");
    insert("ghost");
    EXPECT_EQ(ids(), i == 0 ? "a" : "");
    run("ROLLBACK");
  }
  insert("b");
  EXPECT_EQ(ids(), "b");
  for (int i = 0; i < 300; ++i) insert("gone" + std::to_string(i));
  run("DELETE FROM outbox WHERE id LIKE 'gone%'");
  insert("c");
  EXPECT_EQ(ids(100), "c");
}

TEST_F(SqliteSource, PagesAreBoundedInRecordsAndBytes) {
  for (const char* id : {"a", "b", "c", "d", "e"}) insert(id);
  start();
  auto page = fetch(2);
  EXPECT_EQ(page.records.size(), 2u);
  EXPECT_TRUE(page.full);
  page = fetch(100, 1);
  EXPECT_EQ(page.records.size(), 1u);
  EXPECT_TRUE(page.full);
  page = fetch(100);
  EXPECT_EQ(page.records.size(), 2u);
  EXPECT_FALSE(page.full);
  EXPECT_FALSE(page.window_done);
  EXPECT_EQ(page.window, Window{});
}

TEST_F(SqliteSource, StartsBehindThePosition) {
  for (const char* id : {"a", "b", "c", "d", "e"}) insert(id);
  start(Position{{}, {}, 1, {{4, 0}, {3, 0}}});
  EXPECT_EQ(ids(2), "bc");  // what was settled ahead comes too: the core knows it
  EXPECT_EQ(ids(), "de");
  start(Position{{}, {}, 3, {}});
  EXPECT_EQ(ids(), "de");
}

TEST_F(SqliteSource, GivesPayloadsAsTheyAre) {
  run("INSERT INTO outbox (id, aggregatetype, aggregateid, type, payload, headers, aggregate_version, schema_version, "
      "traceparent, not_before, created_at) VALUES "
      "('json', 'order', '1', 'T', '{\"zebra\":1,\"alpha\":2,\"bb\":3,\"a\":4,\"a\":5}', '{\"h\":\"1\"}', 7, 2, 'tp', "
      "'2030-01-01T00:00:00Z', '2026-01-31 12:00:00'),"
      "('bytes', 'order', '1', 'T', x'00ff7b', NULL, NULL, NULL, NULL, NULL, '2026-01-31T12:00:00Z'),"
      "('null', 'order', '1', 'T', NULL, NULL, NULL, NULL, NULL, NULL, '2026-01-31T12:00:00Z'),"
      "('empty', 'order', '1', 'T', '', NULL, NULL, NULL, NULL, NULL, '2026-01-31T12:00:00Z')");
  start();
  const auto records = fetch().records;
  ASSERT_EQ(records.size(), 4u);
  EXPECT_EQ(records[0]->payload, R"({"zebra":1,"alpha":2,"bb":3,"a":4,"a":5})");
  EXPECT_TRUE(records[0]->payload_json);
  EXPECT_EQ(records[0]->key, "order:1");
  EXPECT_EQ(records[0]->headers, R"({"h":"1"})");
  EXPECT_EQ(records[0]->aggregate_version, 7);
  EXPECT_EQ(records[0]->schema_version, 2);
  EXPECT_EQ(records[0]->traceparent, "tp");
  EXPECT_EQ(records[0]->created_at, Time(Duration(1'769'860'800'000'000)));
  EXPECT_EQ(records[0]->not_before, Time(Duration(1'893'456'000'000'000)));
  EXPECT_EQ(records[1]->payload, std::string("\0\xff{", 3));
  EXPECT_FALSE(records[1]->payload_json);
  EXPECT_TRUE(records[2]->payload_null);
  EXPECT_FALSE(records[3]->payload_null);
}

// B107: times are UTC whatever the zone of the process.
TEST_F(SqliteSource, TimesAreUtcInAnyTimeZone) {
  ::setenv("TZ", "America/New_York", 1);
  ::tzset();
  insert("now");
  insert("later", "not_before=strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '+5 seconds')");
  start();
  const auto page = fetch();
  ::unsetenv("TZ");
  ::tzset();
  ASSERT_EQ(page.records.size(), 2u);
  const Duration hour = 1h;
  EXPECT_LT(page.database_now - page.records[0]->created_at, hour);
  EXPECT_GT(page.records[1]->not_before, page.records[1]->created_at);
  EXPECT_LT(*page.records[1]->not_before - page.records[1]->created_at, hour);
}

TEST_F(SqliteSource, ATimeThatCannotBeReadIsRefusedInOurTable) {
  EXPECT_FALSE(
      shop_.script("INSERT INTO outbox (aggregatetype, aggregateid, type, not_before) VALUES ('a', 'b', 'c', "
                   "'soon')"));
}

TEST_F(SqliteSource, MakesAnIdWhereTheApplicationGivesNone) {
  run("INSERT INTO outbox (aggregatetype, aggregateid, type) VALUES ('a', 'b', 'c'), ('a', 'b', 'c')");
  start();
  const auto records = fetch().records;
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0]->id.size(), 36u);
  EXPECT_NE(records[0]->id, records[1]->id);
}

TEST_F(SqliteSource, FollowsATableOfSomebodyElse) {
  run("CREATE TABLE events (n INTEGER PRIMARY KEY AUTOINCREMENT, event TEXT, kind TEXT, customer INTEGER, at INTEGER)");
  run("INSERT INTO events (event, kind, customer, at) VALUES ('e1', 'Paid', 17, 1769860800), (NULL, 'Paid', 17, 'x')");
  TableMapping mapping;
  mapping.table = "events";
  mapping.columns = {{"id", "event"}, {"type", "kind"}, {"aggregate_id", "customer"}, {"created_at", "at"}};
  mapping.constants = {{"aggregate_type", "customer"}, {"payload", "{}"}};
  source_ = make_sqlite_source("sqlite:" + file_, mapping);
  start();
  const auto records = fetch().records;
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0]->id, "e1");
  EXPECT_EQ(records[0]->key, "customer:17");
  EXPECT_EQ(records[0]->created_at, Time(Duration(1'769'860'800'000'000)));
  EXPECT_EQ(records[1]->id, "events-2");
}

TEST_F(SqliteSource, RefusesToMarkAndFilesWithoutWriteAheadLogging) {
  TableMapping mapping;
  mapping.sent_given = true;
  mapping.sent = SentMode::mark;
  const auto marked = make_sqlite_source("sqlite:" + file_, mapping)->open({});
  ASSERT_FALSE(marked);
  EXPECT_EQ(marked.failure().kind, FailureKind::invalid);

  run("PRAGMA journal_mode=DELETE");
  const auto refused = source_->open({});
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.failure().what.find("journal mode is delete"), std::string::npos);
}

TEST_F(SqliteSource, NoticesThatItsFileWasReplaced) {
  insert("a");
  start();
  EXPECT_EQ(ids(), "a");
  std::filesystem::rename(file_, folder_.file("old.db"));
  const auto page = source_->fetch(10, 1000);
  ASSERT_FALSE(page);
  EXPECT_EQ(page.failure().kind, FailureKind::unavailable);
  const auto gone = source_->open({});
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.failure().kind, FailureKind::local);

  std::filesystem::rename(file_ + "-wal", folder_.file("old.db-wal"));
  std::filesystem::remove(file_ + "-shm");
  auto successor = open();
  ASSERT_TRUE(successor.script(test::read_file(test::source_dir() / "sql/sqlite/0001_outbox.up.sql")));
  ASSERT_TRUE(successor.run("INSERT INTO outbox (id, aggregatetype, aggregateid, type) VALUES ('b', 'o', '1', 'T')"));
  start();
  EXPECT_EQ(ids(), "b");
}

TEST_F(SqliteSource, NoticesThatItsFileWasRestoredInPlace) {
  insert("a");
  insert("b");
  start();
  EXPECT_EQ(ids(), "ab");
  test::copy_database(file_, folder_.file("backup.db"));
  insert("c");
  insert("d");
  EXPECT_EQ(ids(), "cd");
  test::copy_database(folder_.file("backup.db"), file_);
  // Beyond the number that was read last, before the next look.
  for (const char* id : {"new3", "new4", "new5"}) insert(id);
  const auto page = source_->fetch(10, 1000);
  ASSERT_FALSE(page);
  EXPECT_EQ(page.failure().kind, FailureKind::unavailable);
  start(Position{{}, {}, 2, {}});
  EXPECT_EQ(ids(), "new3new4new5");
}

TEST_F(SqliteSource, NoticesThatNumbersWentBack) {
  insert("a");
  test::copy_database(file_, folder_.file("backup.db"));
  insert("b");
  start();
  EXPECT_EQ(ids(), "ab");
  test::copy_database(folder_.file("backup.db"), file_);
  EXPECT_FALSE(source_->fetch(10, 1000));
}

TEST_F(SqliteSource, ReadsOnWhereTheLastRowWasDeleted) {
  insert("a");
  start();
  EXPECT_EQ(ids(), "a");
  run("DELETE FROM outbox");
  insert("b");
  EXPECT_EQ(ids(), "b");
}

// B017: an application that reads and then writes in one deferred transaction is never refused because
// of us, however often we read in between, and it sees no lock of ours without any busy time-out.
TEST_F(SqliteSource, NeverMakesTheApplicationWait) {
  auto application = open(0s);
  ASSERT_TRUE(application.script("PRAGMA synchronous=OFF"));
  start();
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(application.script("BEGIN DEFERRED"));
    ASSERT_TRUE(application.integer("SELECT count(*) FROM outbox"));
    fetch(10);
    const auto written =
        application.run("INSERT INTO outbox (aggregatetype, aggregateid, type, payload) VALUES ('a', 'b', 'c', '{}')");
    ASSERT_TRUE(written) << written.failure().what;
    fetch(10);
    ASSERT_TRUE(application.script("COMMIT"));
  }
  // No read transaction of ours stands in the way of a checkpoint that empties the log.
  fetch();
  auto checkpoint = application.query("PRAGMA wal_checkpoint(TRUNCATE)");
  ASSERT_TRUE(*checkpoint->next());
  EXPECT_EQ(checkpoint->integer(0), 0);
}

}  // namespace
}  // namespace outbox
