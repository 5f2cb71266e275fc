#include "integration/enqueue_fixture.h"

#include <libpq-fe.h>

#include <stdexcept>

namespace outbox::test {
namespace {

class LibpqApplication final : public Application {
 public:
  explicit LibpqApplication(const std::string& url) : connection_(PQconnectdb(url.c_str()), &PQfinish) {
    if (PQstatus(connection_.get()) != CONNECTION_OK) throw std::runtime_error(PQerrorMessage(connection_.get()));
  }
  void begin(const std::string& isolation) override { execute("begin isolation level " + isolation); }
  void execute(const std::string& sql) override { command(sql); }
  std::vector<Enqueued> enqueue(std::span<const Message> messages, const EnqueueOptions& options) override {
    return outbox::enqueue(connection_.get(), messages, options);
  }
  void commit() override {
    if (command("commit") != "COMMIT") throw std::runtime_error("COMMIT has rolled back");
  }
  void rollback() override { command("rollback"); }

 private:
  std::string command(const std::string& sql) {
    const std::unique_ptr<PGresult, decltype(&PQclear)> result(PQexec(connection_.get(), sql.c_str()), &PQclear);
    const auto status = PQresultStatus(result.get());
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) {
      throw std::runtime_error(PQerrorMessage(connection_.get()));
    }
    return PQcmdStatus(result.get());
  }
  std::unique_ptr<PGconn, decltype(&PQfinish)> connection_;
};

class PqxxApplication final : public Application {
 public:
  explicit PqxxApplication(const std::string& url) : connection_(url) {}
  void begin(const std::string& isolation) override {
    if (isolation == "read committed") {
      transaction_ = std::make_unique<pqxx::work>(connection_);
    } else {
      transaction_ = std::make_unique<pqxx::transaction<pqxx::repeatable_read>>(connection_);
    }
  }
  void execute(const std::string& sql) override { transaction_->exec(sql); }
  std::vector<Enqueued> enqueue(std::span<const Message> messages, const EnqueueOptions& options) override {
    return outbox::enqueue(*transaction_, messages, options);
  }
  void commit() override {
    transaction_->commit();
    transaction_.reset();
  }
  void rollback() override { transaction_.reset(); }

 private:
  pqxx::connection connection_;
  std::unique_ptr<pqxx::transaction_base> transaction_;
};

}  // namespace

std::unique_ptr<Application> libpq_application(const std::string& url) {
  return std::make_unique<LibpqApplication>(url);
}

std::unique_ptr<Application> pqxx_application(const std::string& url) { return std::make_unique<PqxxApplication>(url); }

std::vector<std::string> EnqueuePostgres::payloads() {
  const std::string type = database().value(
      "select atttypid::regtype::text from pg_attribute where attrelid = 'outbox'::regclass and attname = 'payload'");
  const std::string raw = type == "bytea" ? "payload" : "convert_to(payload::text, 'UTF8')";
  std::vector<std::string> payloads;
  for (const auto& row : database().query("select encode(" + raw + ", 'hex') from outbox order by seq")) {
    const std::string& hex = row.at(0).value();
    std::string& payload = payloads.emplace_back();
    for (std::size_t i = 0; i < hex.size(); i += 2)
      payload += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  }
  return payloads;
}

void EnqueuePostgres::expect_harmless(const std::function<void()>& call, const std::string& text) {
  const std::string before = count("business");
  application().begin();
  application().execute("insert into business (note) values ('kept')");
  try {
    call();
    ADD_FAILURE() << "no error, expected: " << text;
  } catch (const Error& error) {
    EXPECT_FALSE(error.poisons_transaction()) << error.what();
    EXPECT_FALSE(error.retryable()) << error.what();
    EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
  }
  application().commit();
  EXPECT_EQ(std::stoi(count("business")), std::stoi(before) + 1);
}

}  // namespace outbox::test
