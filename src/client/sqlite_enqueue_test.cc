#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "outbox/error.h"
#include "outbox/sqlite.h"
#include "support/paths.h"
#include "support/temp_dir.h"

namespace outbox {
namespace {

class Database {
 public:
  explicit Database(const std::string& file) : handle_(nullptr, &sqlite3_close) {
    sqlite3* opened = nullptr;
    EXPECT_EQ(sqlite3_open(file.c_str(), &opened), SQLITE_OK);
    handle_.reset(opened);
    execute("pragma synchronous = off");
  }
  sqlite3* get() const { return handle_.get(); }
  void execute(const std::string& sql) {
    ASSERT_EQ(sqlite3_exec(get(), sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
        << sqlite3_errmsg(get()) << ": " << sql;
  }
  // The first column of the first row, as bytes.
  std::string value(const std::string& sql) {
    sqlite3_stmt* statement = nullptr;
    EXPECT_EQ(sqlite3_prepare_v2(get(), sql.c_str(), -1, &statement, nullptr), SQLITE_OK) << sqlite3_errmsg(get());
    std::string bytes = "(none)";
    if (sqlite3_step(statement) == SQLITE_ROW) {
      const void* blob = sqlite3_column_blob(statement, 0);
      const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement, 0));
      bytes = blob == nullptr ? std::string() : std::string(static_cast<const char*>(blob), size);
    }
    sqlite3_finalize(statement);
    return bytes;
  }

 private:
  std::unique_ptr<sqlite3, decltype(&sqlite3_close)> handle_;
};

class SqliteEnqueue : public testing::Test {
 protected:
  SqliteEnqueue() : file_(folder_.file("shop.db")), database_(file_) {
    database_.execute(test::read_file(test::source_dir() / "sql/sqlite/0001_outbox.up.sql"));
    database_.execute("create table business (n integer)");
  }

  static Message order(const std::string& payload = "{}") {
    Message message;
    message.aggregate_type = "order";
    message.aggregate_id = "4711";
    message.type = "OrderConfirmed";
    message.payload = payload;
    return message;
  }

  // The call throws; then the transaction commits its business row and none of the messages.
  template <class Call>
  void expect_harmless(Call call) {
    database_.execute("begin immediate; insert into business values (1)");
    try {
      call();
      ADD_FAILURE() << "no error";
    } catch (const Error& error) {
      EXPECT_FALSE(error.poisons_transaction()) << error.what();
    }
    database_.execute("commit");
    EXPECT_EQ(database_.value("select count(*) from outbox"), "0");
    EXPECT_EQ(database_.value("select count(*) from business"), "1");
    database_.execute("delete from business");
  }

  test::TempDir folder_;
  std::string file_;
  Database database_;
};

TEST_F(SqliteEnqueue, StoresEveryField) {
  Message message = order(R"({"zebra":1,"alpha":2,"bb":3,"a":4,"a":5})");
  message.id = "0190B8F0-0000-7000-8000-00000000ABCD";
  message.headers = {{"tag", "a"}, {"tenant", "n\xc3\xb6rd"}, {"tag", "b"}};
  message.schema_version = 3;
  message.aggregate_version = 9'000'000'000;
  message.traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  message.not_before =
      std::chrono::sys_days(std::chrono::year(2031) / 2 / 3) + std::chrono::hours(4) + std::chrono::microseconds(5);
  database_.execute("begin immediate");
  const Enqueued enqueued = enqueue(database_.get(), message);
  database_.execute("commit");

  EXPECT_EQ(enqueued.id, "0190b8f0-0000-7000-8000-00000000abcd");
  EXPECT_FALSE(enqueued.duplicate);
  EXPECT_EQ(database_.value("select id||'|'||aggregatetype||'|'||aggregateid||'|'||type||'|'||headers||'|'||"
                            "schema_version||'|'||aggregate_version||'|'||traceparent||'|'||not_before from outbox"),
            "0190b8f0-0000-7000-8000-00000000abcd|order|4711|OrderConfirmed|"
            "{\"tag\":[\"a\",\"b\"],\"tenant\":\"n\xc3\xb6rd\"}|3|9000000000|"
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01|2031-02-03T04:00:00.000005Z");
  EXPECT_EQ(database_.value("select payload from outbox"), message.payload);
  EXPECT_EQ(database_.value("select typeof(payload) from outbox"), "text");
}

TEST_F(SqliteEnqueue, LeavesOutWhatIsNotThere) {
  database_.execute("begin immediate");
  enqueue(database_.get(), order());
  database_.execute("commit");
  EXPECT_EQ(
      database_.value("select count(*) from outbox where schema_version is null and aggregate_version is null and "
                      "traceparent is null and not_before is null and created_at is not null"),
      "1");
}

TEST_F(SqliteEnqueue, KeepsThePayloadsBytes) {
  std::vector<Message> messages{order(R"({"s":"a\u0000b"})"), order(" [ 1.0 , 1e400 ]\n"), order(), order()};
  for (const std::size_t i : {2U, 3U}) messages[i].payload_is_bytes = true;
  messages[2].payload = std::string("\0\xff\x80", 3);
  messages[3].payload.clear();
  database_.execute("begin immediate");
  enqueue(database_.get(), messages);
  database_.execute("commit");
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const std::string at = " from outbox where seq = " + std::to_string(i + 1);
    EXPECT_EQ(database_.value("select payload" + at), messages[i].payload);
    EXPECT_EQ(database_.value("select typeof(payload)" + at), messages[i].payload_is_bytes ? "blob" : "text");
  }
}

TEST_F(SqliteEnqueue, ADuplicateIsAResult) {
  Message message = order();
  message.id = make_message_id();
  database_.execute("begin immediate; insert into business values (1)");
  EXPECT_FALSE(enqueue(database_.get(), message).duplicate);
  EXPECT_TRUE(enqueue(database_.get(), message).duplicate);
  const auto results = enqueue(database_.get(), std::vector<Message>{message, order(), message, order()});
  EXPECT_TRUE(results[0].duplicate && results[2].duplicate);
  EXPECT_FALSE(results[1].duplicate || results[3].duplicate);
  database_.execute("commit");
  EXPECT_EQ(database_.value("select count(*) from outbox"), "3");
  EXPECT_EQ(database_.value("select count(*) from business"), "1");
}

TEST_F(SqliteEnqueue, TheSameIdTwiceInOneCallIsOneMessage) {
  std::vector<Message> messages(2, order());
  messages[0].id = "0190b8f0-0000-7000-8000-00000000abcd";
  messages[1].id = "0190B8F0-0000-7000-8000-00000000ABCD";
  messages[1].payload = "[]";
  database_.execute("begin immediate");
  const auto results = enqueue(database_.get(), messages);
  database_.execute("commit");
  EXPECT_FALSE(results[0].duplicate);
  EXPECT_TRUE(results[1].duplicate);
  EXPECT_EQ(database_.value("select payload from outbox"), "{}");
}

TEST_F(SqliteEnqueue, RefusesWithoutATransaction) {
  EXPECT_THROW(enqueue(database_.get(), order()), Error);
  EXPECT_EQ(database_.value("select count(*) from outbox"), "0");
}

TEST_F(SqliteEnqueue, ARefusalLeavesTheTransactionUsable) {
  EnqueueOptions other_table;
  other_table.table = "no_such_outbox";
  EnqueueOptions small;
  small.max_payload = 1;
  expect_harmless([&] { enqueue(database_.get(), order("{")); });
  expect_harmless([&] { enqueue(database_.get(), order(), small); });
  expect_harmless([&] { enqueue(database_.get(), order(), other_table); });
  expect_harmless([&] { enqueue(database_.get(), std::vector<Message>{order(), order("x")}); });
}

TEST_F(SqliteEnqueue, SeveralAreStoredTogetherOrNotAtAll) {
  database_.execute(
      "create trigger refuse before insert on outbox when new.type = 'Bad' begin select raise(abort, 'no'); end");
  Message bad = order();
  bad.type = "Bad";
  expect_harmless([&] { enqueue(database_.get(), std::vector<Message>{order(), order(), bad}); });
}

TEST_F(SqliteEnqueue, LeavesTheLastInsertRowAsItWas) {
  database_.execute(
      "begin immediate; insert into outbox (seq, aggregatetype, aggregateid, type, payload) "
      "values (500, 'a', 'b', 'c', '{}'); insert into business values (7)");
  const auto row = sqlite3_last_insert_rowid(database_.get());
  enqueue(database_.get(), order());
  EXPECT_EQ(sqlite3_last_insert_rowid(database_.get()), row);
  database_.execute("rollback");
  EXPECT_EQ(database_.value("select count(*) from outbox"), "0");
}

// Case B017.
TEST_F(SqliteEnqueue, AStaleDeferredTransactionIsToldToStartAgain) {
  Database other(file_);
  sqlite3_busy_timeout(database_.get(), 5000);
  database_.execute("begin deferred; select * from business");
  database_.value("select count(*) from business");
  other.execute("insert into business values (2)");
  try {
    enqueue(database_.get(), order());
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_TRUE(error.retryable());
    EXPECT_TRUE(error.poisons_transaction());
    EXPECT_NE(std::string(error.what()).find("BEGIN IMMEDIATE"), std::string::npos) << error.what();
  }
  database_.execute("rollback; begin immediate");
  enqueue(database_.get(), order());
  database_.execute("commit");
  EXPECT_EQ(database_.value("select count(*) from outbox"), "1");
}

TEST_F(SqliteEnqueue, AnotherWriterIsRetryableAndHarmless) {
  Database other(file_);
  other.execute("begin immediate");
  database_.execute("begin deferred");
  for (const std::vector<Message>& messages : {std::vector<Message>(1, order()), std::vector<Message>(2, order())}) {
    try {
      enqueue(database_.get(), messages);
      ADD_FAILURE() << "no error";
    } catch (const Error& error) {
      EXPECT_TRUE(error.retryable());
      EXPECT_FALSE(error.poisons_transaction());
    }
  }
  other.execute("commit");
  enqueue(database_.get(), order());  // the transaction is as usable as before
  database_.execute("commit");
  EXPECT_EQ(database_.value("select count(*) from outbox"), "1");
}

TEST_F(SqliteEnqueue, AFullDatabaseSaysWhetherTheTransactionIsGone) {
  database_.execute("pragma max_page_count = 12; begin immediate; insert into business values (1)");
  try {
    enqueue(database_.get(), order('"' + std::string(500'000, 'x') + '"'));
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("full"), std::string::npos) << error.what();
    EXPECT_EQ(error.poisons_transaction(), sqlite3_get_autocommit(database_.get()) != 0);
  }
}

TEST_F(SqliteEnqueue, ATableWithAPrefix) {
  database_.execute("create table billing_outbox as select * from outbox; create unique index u on billing_outbox(id)");
  EnqueueOptions options;
  options.table = "billing_outbox";
  database_.execute("begin immediate");
  enqueue(database_.get(), order(), options);
  options.table = "main.billing_outbox";
  enqueue(database_.get(), order(), options);
  database_.execute("commit");
  EXPECT_EQ(database_.value("select count(*) from billing_outbox"), "2");
}

// Case B011: as many business rows as messages, wherever the process died.
TEST_F(SqliteEnqueue, AKilledWriterLeavesBothOrNeither) {
  database_.execute("pragma wal_checkpoint");
  for (int round = 0; round < 40; ++round) {
    const pid_t child = fork();
    if (child == 0) {
      Database own(file_);
      own.execute("begin immediate; insert into business values (1)");
      if (round % 3 == 0) raise(SIGKILL);
      enqueue(own.get(), order());
      if (round % 3 == 1) raise(SIGKILL);
      own.execute("commit");
      raise(SIGKILL);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  }
  Database after(file_);
  EXPECT_EQ(after.value("select count(*) from business"), "13");
  EXPECT_EQ(after.value("select count(*) from outbox"), "13");
}

}  // namespace
}  // namespace outbox
