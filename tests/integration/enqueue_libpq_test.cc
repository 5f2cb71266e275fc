// What only libpq's handle can show: the states of a connection, the round trips on the wire, a killed writer.
#include <libpq-fe.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "integration/enqueue_fixture.h"
#include "support/temp_dir.h"

namespace outbox::test {
namespace {

using Connection = std::unique_ptr<PGconn, decltype(&PQfinish)>;

class EnqueueLibpq : public testing::Test {
 protected:
  EnqueueLibpq() : connection_(nullptr, &PQfinish) {}

  void SetUp() override {
    OUTBOX_REQUIRE_SERVICE(server, Service::postgresql);
    database_.emplace(server);
    const auto made = init_postgres(database_->url(), {});
    ASSERT_TRUE(made.has_value()) << made.failure().what;
    database_->execute("create table business (n int)");
    connection_.reset(PQconnectdb(database_->url().c_str()));
    ASSERT_EQ(PQstatus(connection_.get()), CONNECTION_OK);
  }

  static void execute(PGconn* connection, const std::string& sql) {
    PGresult* result = PQexec(connection, sql.c_str());
    EXPECT_EQ(PQresultStatus(result), PGRES_COMMAND_OK) << PQerrorMessage(connection);
    PQclear(result);
  }
  void execute(const std::string& sql) { execute(connection_.get(), sql); }

  // The refusal's text.
  std::string refusal(bool poisons) {
    try {
      enqueue(connection_.get(), order());
      ADD_FAILURE() << "no error";
      return {};
    } catch (const Error& error) {
      EXPECT_EQ(error.poisons_transaction(), poisons) << error.what();
      EXPECT_EQ(error.sql_state(), "");
      return error.what();
    }
  }

  int round_trips(std::span<const Message> messages) {
    const TempDir folder;
    const std::string file = folder.file("trace");
    std::FILE* trace = std::fopen(file.c_str(), "w");
    PQtrace(connection_.get(), trace);
    enqueue(connection_.get(), messages);
    PQuntrace(connection_.get());
    std::fclose(trace);
    const std::string lines = read_file(file);
    int count = 0;
    for (std::size_t at = lines.find("\tSync"); at != std::string::npos; at = lines.find("\tSync", at + 1)) ++count;
    return count;
  }

  std::optional<PostgresDatabase> database_;
  Connection connection_;
};

TEST_F(EnqueueLibpq, RefusesWithoutATransaction) {
  EXPECT_NE(refusal(false).find("no transaction is open"), std::string::npos);
  EXPECT_EQ(database_->value("select count(*) from outbox"), "0");
}

TEST_F(EnqueueLibpq, RefusesAFailedTransactionBeforeItSendsAnything) {
  execute("begin");
  PQclear(PQexec(connection_.get(), "select 1 / 0"));
  EXPECT_NE(refusal(true).find("failed already"), std::string::npos);
}

TEST_F(EnqueueLibpq, RefusesABusyConnectionAndLeavesItsResult) {
  execute("begin");
  ASSERT_EQ(PQsendQuery(connection_.get(), "select 42"), 1);
  EXPECT_NE(refusal(false).find("busy"), std::string::npos);
  PGresult* result = PQgetResult(connection_.get());
  EXPECT_STREQ(PQgetvalue(result, 0, 0), "42");
  PQclear(result);
  EXPECT_EQ(PQgetResult(connection_.get()), nullptr);
  enqueue(connection_.get(), order());
  execute("commit");
}

TEST_F(EnqueueLibpq, RefusesPipelineMode) {
  execute("begin");
  ASSERT_EQ(PQenterPipelineMode(connection_.get()), 1);
  EXPECT_NE(refusal(false).find("pipeline"), std::string::npos);
  ASSERT_EQ(PQexitPipelineMode(connection_.get()), 1);
  enqueue(connection_.get(), order());
  execute("commit");
}

TEST_F(EnqueueLibpq, WorksOnANonBlockingConnection) {
  ASSERT_EQ(PQsetnonblocking(connection_.get(), 1), 0);
  execute("begin");
  EnqueueOptions options;
  options.max_payload = 20'000'000;
  enqueue(connection_.get(), order('"' + std::string(5'000'000, 'x') + '"'), options);
  execute("commit");
  EXPECT_EQ(database_->value("select length(payload::text) from outbox"), "5000002");
}

TEST_F(EnqueueLibpq, OneRoundTripForACall) {
  execute("begin");
  EXPECT_EQ(round_trips(std::vector<Message>{order()}), 2);  // the first looks at the table
  EXPECT_EQ(round_trips(std::vector<Message>{order()}), 1);
  EXPECT_EQ(round_trips(std::vector<Message>(1000, order())), 1);
  execute("commit");
  PQreset(connection_.get());
  execute("begin");
  EXPECT_EQ(round_trips(std::vector<Message>{order()}), 2);  // another server process, so it looks again
}

TEST_F(EnqueueLibpq, ADatabaseInAnotherEncodingTakesAsciiWithoutHarm) {
  const std::string name = database_->name() + "_latin1";
  database_->execute("create database " + name + " encoding 'LATIN1' lc_collate 'C' lc_ctype 'C' template template0");
  std::string url = database_->url();
  url.replace(url.rfind(database_->name()), database_->name().size(), name);
  const auto made = init_postgres(url, {});
  ASSERT_TRUE(made.has_value()) << made.failure().what;
  connection_.reset(PQconnectdb(url.c_str()));
  execute("begin");
  enqueue(connection_.get(), order());
  EXPECT_THROW(enqueue(connection_.get(), order("\"\xe2\x82\xac\"")), Error);
  enqueue(connection_.get(), order());
  execute("commit");
  connection_.reset();
  database_->execute("drop database " + name);
}

// Case B015.
TEST_F(EnqueueLibpq, BoundsThePayload) {
  execute("begin");
  enqueue(connection_.get(), order('"' + std::string(999'998, 'x') + '"'));
  for (const std::size_t size : {1'000'001UL, 120'000'000UL}) {
    try {
      enqueue(connection_.get(), order(std::string(size, 'x')));
      ADD_FAILURE() << "no error";
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(std::to_string(size) + " bytes, the limit is 1000000"),
                std::string::npos);
    }
  }
  execute("commit");
  EXPECT_EQ(database_->value("select count(*) from outbox"), "1");
}

// Case B013: the only clock in a row is the database's, unless the application gave a time.
TEST_F(EnqueueLibpq, TimesAreTheDatabases) {
  execute("begin");
  enqueue(connection_.get(), order());
  execute("insert into business values (1)");
  PGresult* result = PQexec(connection_.get(), "select created_at = now() and not_before is null from outbox");
  EXPECT_STREQ(PQgetvalue(result, 0, 0), "t");
  PQclear(result);
  execute("commit");
}

// Case B011: as many business rows as messages, wherever the process died.
TEST_F(EnqueueLibpq, AKilledWriterLeavesBothOrNeither) {
  constexpr int kRounds = 60;
  for (int round = 0; round < kRounds; ++round) {
    const pid_t child = fork();
    if (child == 0) {
      PGconn* own = PQconnectdb(database_->url().c_str());
      execute(own, "begin");
      execute(own, "insert into business values (" + std::to_string(round) + ")");
      if (round % 3 == 0) raise(SIGKILL);
      enqueue(own, order());
      if (round % 3 == 1) raise(SIGKILL);
      execute(own, "commit");
      raise(SIGKILL);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  }
  EXPECT_EQ(database_->value("select count(*) from business"), std::to_string(kRounds / 3));
  EXPECT_EQ(database_->value("select count(*) from outbox"), std::to_string(kRounds / 3));
}

TEST_F(EnqueueLibpq, APqxxNontransactionIsRefused) {
  pqxx::connection connection(database_->url());
  pqxx::nontransaction transaction(connection);
  EXPECT_THROW(enqueue(transaction, order()), Error);
  EXPECT_EQ(database_->value("select count(*) from outbox"), "0");
}

TEST_F(EnqueueLibpq, APqxxTransactionThatHasEndedIsRefused) {
  pqxx::connection connection(database_->url());
  pqxx::work transaction(connection);
  enqueue(transaction, order());
  transaction.commit();
  EXPECT_THROW(enqueue(transaction, order()), Error);
  EXPECT_EQ(database_->value("select count(*) from outbox"), "1");
}

TEST_F(EnqueueLibpq, APqxxSubtransactionTakesItsMessagesWithIt) {
  pqxx::connection connection(database_->url());
  pqxx::work transaction(connection);
  enqueue(transaction, order());
  {
    pqxx::subtransaction part(transaction);
    enqueue(part, order());
    part.abort();
  }
  {
    pqxx::subtransaction part(transaction);
    enqueue(part, order());
    part.commit();
  }
  transaction.commit();
  EXPECT_EQ(database_->value("select count(*) from outbox"), "2");
}

}  // namespace
}  // namespace outbox::test
