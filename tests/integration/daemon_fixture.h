// The daemon between a PostgreSQL database of its own and HTTP endpoints that do what a script says.
#pragma once

#include <gtest/gtest.h>

#include <memory>

#include "support/daemon.h"
#include "support/eventually.h"
#include "support/http_stub.h"
#include "support/postgres_database.h"
#include "support/services.h"

namespace outbox::test {

class DaemonTest : public testing::Test {
 protected:
  void SetUp() override {
    OUTBOX_REQUIRE_SERVICE(server, Service::postgresql);
    database_ = std::make_unique<PostgresDatabase>(server);
  }

  // `sinks` and `routes` are lines of YAML, `more` whole sections; then the tables are made.
  void configure(const std::string& sinks, const std::string& routes, const std::string& more = {}) {
    daemon_.configure("database: \"" + database_->url() + "\"\nsinks:\n" + sinks + "routes:\n" + routes +
                      "admin: { listen: \"127.0.0.1:0\" }\n" + more);
    const Ran init = daemon_.run(init_);
    ASSERT_EQ(init.code, 0) << init.err;
  }

  static std::string http_sink(const std::string& name, const HttpStub& stub, const std::string& more = {}) {
    return "  " + name + ": { type: http, url: \"" + stub.url("/" + name) + "\", from: beginning" + more + " }\n";
  }

  // One transaction; returns the message's id.
  std::string send(const std::string& aggregate_id, const std::string& type = "T", const std::string& payload = "{}") {
    return *database_->query("select outbox_send('order', $1, $2, $3)", {aggregate_id, type, payload}).at(0).at(0);
  }

  std::string state_of(const std::string& id) {
    const auto rows = database_->query("select state from outbox_delivery where message_id = $1", {id});
    return rows.empty() ? "" : *rows[0][0];
  }
  std::string count(const std::string& state) {
    return database_->value("select count(*) from outbox_delivery where state = '" + state + "'");
  }
  std::string attempts_used() { return database_->value("select coalesce(max(attempts), 0) from outbox_delivery"); }

  // SIGTERM, and the exit code.
  static int stop(ChildProcess& relay) {
    relay.terminate();
    const auto ended = relay.wait(std::chrono::seconds(30));
    return ended ? ended->code : -1;
  }

  std::unique_ptr<PostgresDatabase> database_;
  Daemon daemon_;
  std::vector<std::string> init_{"init"};
};

// The ids of the requests, in the order of their arrival.
inline std::vector<std::string> ids_of(const std::vector<StubRequest>& requests) {
  std::vector<std::string> ids;
  for (const auto& request : requests) ids.push_back(request.header("idempotency-key"));
  return ids;
}

}  // namespace outbox::test
