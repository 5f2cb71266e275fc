// A fresh database with our outbox table and a business table, for the tests of enqueue on PostgreSQL.
#pragma once

#include <gtest/gtest.h>
#include <pqxx/pqxx>

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "outbox/enqueue.h"
#include "outbox/error.h"
#include "outbox/message.h"
#include "outbox/postgres.h"
#include "outbox/pqxx.h"
#include "store/postgres/schema.h"
#include "support/postgres_database.h"
#include "support/services.h"

namespace outbox::test {

inline Message order(std::string payload = "{}") {
  Message message;
  message.aggregate_type = "order";
  message.aggregate_id = "4711";
  message.type = "OrderConfirmed";
  message.payload = std::move(payload);
  return message;
}

inline Message bytes(std::string payload) {
  Message message = order(std::move(payload));
  message.payload_is_bytes = true;
  return message;
}

// An application's connection with a transaction open: the same tests run with each driver.
class Application {
 public:
  virtual ~Application() = default;
  virtual void begin(const std::string& isolation = "read committed") = 0;
  virtual void execute(const std::string& sql) = 0;
  virtual std::vector<Enqueued> enqueue(std::span<const Message> messages, const EnqueueOptions& options = {}) = 0;
  virtual void commit() = 0;  // throws if nothing was committed
  virtual void rollback() = 0;

  Enqueued enqueue(const Message& message, const EnqueueOptions& options = {}) {
    return enqueue(std::span(&message, 1), options).front();
  }
};

std::unique_ptr<Application> libpq_application(const std::string& url);
std::unique_ptr<Application> pqxx_application(const std::string& url);

struct Variant {
  std::string name;
  Service service;
  std::unique_ptr<Application> (*connect)(const std::string& url);
};

class EnqueuePostgres : public testing::TestWithParam<Variant> {
 protected:
  void SetUp() override {
    OUTBOX_REQUIRE_SERVICE(server, GetParam().service);
    database_.emplace(server);
    database_->execute("create table business (n bigint generated always as identity, note text)");
  }

  // Makes the outbox table, and connects.
  void start(const std::string& payload = "json", const std::string& table = "outbox") {
    InitOptions options;
    options.payload = payload;
    options.table = table;
    const auto made = init_postgres(database_->url(), options);
    ASSERT_TRUE(made.has_value()) << made.failure().what;
    application_ = GetParam().connect(database_->url());
  }

  PostgresDatabase& database() { return *database_; }
  Application& application() { return *application_; }
  std::string count(const std::string& table) { return database().value("select count(*) from " + table); }

  // What is stored, byte for byte, in the order of seq.
  std::vector<std::string> payloads();

  // The call is refused; then the transaction commits its business row, and no message.
  void expect_harmless(const std::function<void()>& call, const std::string& text);

  std::optional<PostgresDatabase> database_;
  std::unique_ptr<Application> application_;
};

}  // namespace outbox::test
