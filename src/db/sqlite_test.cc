#include "db/sqlite.h"

#include <gtest/gtest.h>

#include "db/sqlite_table.h"
#include "db/sqlite_time.h"
#include "support/temp_dir.h"

namespace outbox::db {
namespace {

using test::TempDir;

Time at(std::int64_t micros) { return Time(Duration(micros)); }

TEST(SqliteTime, ReadsWhatPeopleStore) {
  const std::int64_t noon = 1'769'860'800'000'000;  // 2026-01-31T12:00:00Z
  EXPECT_EQ(parse_sqlite_time("2026-01-31 12:00:00"), at(noon));
  EXPECT_EQ(parse_sqlite_time("2026-01-31T12:00:00.123Z"), at(noon + 123'000));
  EXPECT_EQ(parse_sqlite_time("2026-01-31T12:00:00.123456789Z"), at(noon + 123'456));
  EXPECT_EQ(parse_sqlite_time("2026-01-31T17:30:00+05:30"), at(noon));
  EXPECT_EQ(parse_sqlite_time("2026-01-31 07:00:00 -0500"), at(noon));
  EXPECT_EQ(parse_sqlite_time("2026-01-31T12:00"), at(noon));
  EXPECT_EQ(parse_sqlite_time("2026-01-31"), at(noon - 43'200'000'000));
  for (const char* text : {"", "soon", "2026-13-01", "2026-02-30 00:00:00", "2026-01-31 12", "2026-01-31 12:00:00 CET",
                           "2026-01-31T12:00:00Zx"}) {
    EXPECT_FALSE(parse_sqlite_time(text)) << text;
  }
}

TEST(SqliteTime, JudgesNumbersByTheirSize) {
  const TempDir folder;
  auto file = Sqlite::open(folder.file("a.db"), Sqlite::Mode::create);
  ASSERT_TRUE(file) << file.failure().what;
  auto rows =
      file->query("SELECT 1769860800, 1769860800123, 1769860800123456, 1769860800.25, 2461072.0, NULL, x'00', -5");
  ASSERT_TRUE(rows);
  ASSERT_TRUE(*rows->next());
  EXPECT_EQ(read_sqlite_time(*rows, 0), at(1'769'860'800'000'000));
  EXPECT_EQ(read_sqlite_time(*rows, 1), at(1'769'860'800'123'000));
  EXPECT_EQ(read_sqlite_time(*rows, 2), at(1'769'860'800'123'456));
  EXPECT_EQ(read_sqlite_time(*rows, 3), at(1'769'860'800'250'000));
  EXPECT_EQ(read_sqlite_time(*rows, 4), at(1'769'860'800'000'000));  // a Julian day
  for (const int column : {5, 6, 7}) EXPECT_FALSE(read_sqlite_time(*rows, column)) << column;
}

TEST(Sqlite, KeepsEmptyTextNullAndZeroBytesApart) {
  const TempDir folder;
  auto file = Sqlite::open(folder.file("a.db"), Sqlite::Mode::create);
  ASSERT_TRUE(file);
  ASSERT_TRUE(file->script("CREATE TABLE t (a, b, c, d)"));
  const std::string bytes("\0\xff{", 3);
  ASSERT_TRUE(file->run("INSERT INTO t VALUES (?, ?, ?, ?)", {std::string_view(), Blob{}, nullptr, Blob{bytes}}));
  auto rows = file->query("SELECT a, b, c, d FROM t");
  ASSERT_TRUE(*rows->next());
  EXPECT_EQ(rows->type(0), SqliteRows::Type::text);
  EXPECT_EQ(rows->type(1), SqliteRows::Type::blob);
  EXPECT_TRUE(rows->null(2));
  EXPECT_EQ(rows->text(3), bytes);
  EXPECT_FALSE(*rows->next());
}

TEST(Sqlite, AMissingFileAndAForeignOneAreToldApart) {
  const TempDir folder;
  const auto missing = Sqlite::open(folder.file("none.db"), Sqlite::Mode::write);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.failure().kind, FailureKind::local);
  EXPECT_NE(missing.failure().what.find("none.db"), std::string::npos);

  test::write_file(folder.file("text.db"), std::string(5000, 'x'));
  auto foreign = Sqlite::open(folder.file("text.db"), Sqlite::Mode::write);
  if (foreign) {
    const auto read = foreign->integer("SELECT count(*) FROM sqlite_schema");
    ASSERT_FALSE(read);
    EXPECT_EQ(read.failure().kind, FailureKind::invalid);
  } else {
    EXPECT_EQ(foreign.failure().kind, FailureKind::invalid);
  }
}

TEST(Sqlite, AnotherConnectionsLockIsUnavailable) {
  const TempDir folder;
  auto one = Sqlite::open(folder.file("a.db"), Sqlite::Mode::create, 0s);
  auto two = Sqlite::open(folder.file("a.db"), Sqlite::Mode::write, 0s);
  ASSERT_TRUE(one && two);
  auto held = SqliteTransaction::begin(*one);
  ASSERT_TRUE(held);
  const auto refused = SqliteTransaction::begin(*two);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.failure().kind, FailureKind::unavailable);
}

TEST(Sqlite, AFullDiskIsALocalFailureAndUndoesTheTransaction) {
  const TempDir folder;
  auto file = Sqlite::open(folder.file("a.db"), Sqlite::Mode::create);
  ASSERT_TRUE(file);
  ASSERT_TRUE(file->script("PRAGMA journal_mode=WAL; CREATE TABLE t (a); PRAGMA max_page_count=4"));
  {
    auto transaction = SqliteTransaction::begin(*file);
    ASSERT_TRUE(file->run("INSERT INTO t VALUES ('small')"));
    const auto full = file->run("INSERT INTO t VALUES (?)", {std::string(100'000, 'x')});
    ASSERT_FALSE(full);
    EXPECT_EQ(full.failure().kind, FailureKind::local);
    EXPECT_NE(full.failure().what.find("free space"), std::string::npos) << full.failure().what;
  }
  EXPECT_EQ(*file->integer("SELECT count(*) FROM t"), 0);
  EXPECT_TRUE(file->run("INSERT INTO t VALUES ('small')"));
}

TEST(Sqlite, NoticesThatItsFileWasReplaced) {
  const TempDir folder;
  auto file = Sqlite::open(folder.file("a.db"), Sqlite::Mode::create);
  ASSERT_TRUE(file);
  ASSERT_TRUE(file->script("CREATE TABLE t (a)"));
  EXPECT_FALSE(file->replaced());
  std::filesystem::rename(folder.file("a.db"), folder.file("b.db"));
  EXPECT_TRUE(file->replaced());
  test::write_file(folder.file("a.db"), "");
  EXPECT_TRUE(file->replaced());
}

class Table : public testing::Test {
 protected:
  Table() : file_(std::move(*Sqlite::open(folder_.file("a.db"), Sqlite::Mode::create))) {}

  Result<SqliteTable> inspect(const std::string& ddl, const std::map<std::string, std::string>& columns = {},
                              const std::map<std::string, std::string>& constants = {}) {
    EXPECT_TRUE(file_.script("DROP TABLE IF EXISTS box; " + ddl));
    return inspect_table(file_, "box", columns, constants);
  }

  TempDir folder_;
  Sqlite file_;
};

TEST_F(Table, IsFollowedUnderItsOwnNames) {
  const auto table = inspect(
      "CREATE TABLE box (n INTEGER PRIMARY KEY AUTOINCREMENT, event_id TEXT, kind TEXT, \"the key\" TEXT, body TEXT)",
      {{"id", "event_id"}, {"type", "kind"}, {"aggregate_id", "the key"}, {"payload", "body"}, {"headers", ""}},
      {{"aggregate_type", "order's"}});
  ASSERT_TRUE(table) << table.failure().what;
  EXPECT_EQ(table->seq, "\"n\"");
  EXPECT_EQ(table->column("aggregate_id"), "\"the key\"");
  EXPECT_EQ(table->column("aggregate_type"), "'order''s'");
  EXPECT_EQ(table->column("headers"), "NULL");
  EXPECT_TRUE(table->notes.empty());
}

TEST_F(Table, SaysWhatItLacks) {
  const std::map<std::string, std::string> constants{{"aggregate_type", "a"}, {"aggregate_id", "b"}, {"type", "c"}};
  auto table =
      inspect("CREATE TABLE box (n INTEGER PRIMARY KEY, id TEXT, body TEXT)", {{"payload", "boddy"}}, constants);
  ASSERT_FALSE(table);
  EXPECT_NE(table.failure().what.find("no column boddy (columns.payload); it has: n, id, body"), std::string::npos)
      << table.failure().what;
  table = inspect("CREATE TABLE box (id TEXT PRIMARY KEY, payload TEXT)", {}, constants);
  ASSERT_FALSE(table);
  EXPECT_NE(table.failure().what.find("INTEGER PRIMARY KEY"), std::string::npos);
  table = inspect("CREATE TABLE box (n INTEGER PRIMARY KEY, id TEXT, payload TEXT)", {}, constants);
  ASSERT_TRUE(table) << table.failure().what;
  ASSERT_EQ(table->notes.size(), 1u);
  EXPECT_NE(table->notes[0].find("AUTOINCREMENT"), std::string::npos);
  const auto none = inspect_table(file_, "boxes", {}, {});
  ASSERT_FALSE(none);
  EXPECT_NE(none.failure().what.find("outboxd init"), std::string::npos);
}

TEST_F(Table, LastSeqRemembersWhatWasDeleted) {
  const std::map<std::string, std::string> constants{{"aggregate_type", "a"}, {"aggregate_id", "b"}, {"type", "c"}};
  const auto table =
      inspect("CREATE TABLE box (n INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT, payload TEXT)", {}, constants);
  ASSERT_TRUE(table);
  EXPECT_EQ(*last_seq(file_, *table), 0);
  ASSERT_TRUE(file_.script("INSERT INTO box (id) VALUES ('a'), ('b'); DELETE FROM box"));
  EXPECT_EQ(*last_seq(file_, *table), 2);
}

TEST(Prefix, GoesBeforeOurNamesOnly) {
  EXPECT_EQ(with_prefix("SELECT * FROM outbox, outbox_delivery -- shop.db-outboxd", "bill_"),
            "SELECT * FROM bill_outbox, bill_outbox_delivery -- shop.db-outboxd");
  EXPECT_EQ(with_prefix("my_outbox outbox", "x"), "my_outbox xoutbox");
}

TEST(Application, HasToUseWriteAheadLogging) {
  const TempDir folder;
  auto file = Sqlite::open(folder.file("a.db"), Sqlite::Mode::create);
  ASSERT_TRUE(file->script("CREATE TABLE t (a)"));
  const auto refused = open_application(folder.file("a.db"), Sqlite::Mode::read);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.failure().kind, FailureKind::invalid);
  ASSERT_TRUE(file->script("PRAGMA journal_mode=WAL"));
  auto opened = open_application(folder.file("a.db"), Sqlite::Mode::read);
  ASSERT_TRUE(opened) << opened.failure().what;
  EXPECT_FALSE(opened->run("INSERT INTO t VALUES (1)"));
}

}  // namespace
}  // namespace outbox::db
