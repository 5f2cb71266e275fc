// What a message costs the application: transactions a second of 8 clients that each update a row of their own, with
// and without a message.
#include <fmt/format.h>
#include <libpq-fe.h>

#include <algorithm>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "measure.h"
#include "outbox/message.h"
#include "outbox/postgres.h"
#include "outbox_database.h"
#include "report.h"

namespace outbox::bench {

namespace {

constexpr int kClients = 8;
const std::string kPayload = "{\"n\":1000001,\"fill\":\"" + std::string(1002, 'x') + "\"}";

// What a client does between the business UPDATE and COMMIT.
using Enqueue = std::function<void(Session&, int client)>;

void nothing(Session&, int) {}

void by_insert(Session& session, int client) {
  session.run(
      fmt::format("insert into outbox (aggregatetype, aggregateid, type, payload) values"
                  " ('order', '{}', 'OrderConfirmed', '{}')",
                  client, kPayload));
}

void by_function(Session& session, int client) {
  session.run(fmt::format("select outbox_send('order', '{}', 'OrderConfirmed', '{}')", client, kPayload));
}

void by_library(Session& session, int client) {
  Message message;
  message.aggregate_type = "order";
  message.aggregate_id = std::to_string(client);
  message.type = "OrderConfirmed";
  message.payload = kPayload;
  enqueue(session.handle(), message);
}

void work(const std::string& url, int client, std::int64_t transactions, const Enqueue& enqueue) {
  Session session(url);
  for (std::int64_t i = 0; i < transactions; ++i) {
    session.run("begin");
    session.run(fmt::format("update account set n = n + 1 where id = {}", client));
    enqueue(session, client);
    session.run("commit");
  }
}

void all_clients(const std::string& url, std::int64_t each, const Enqueue& enqueue) {
  std::vector<std::jthread> clients;
  for (int i = 0; i < kClients; ++i) clients.emplace_back([&, i] { work(url, i, each, enqueue); });
}

void benchmark(const Rig& rig) {
  const std::int64_t transactions = rig.rows > 0 ? rig.rows : 16'000;
  OutboxDatabase database(rig, "enqueue");
  Session session(database.url());
  session.run("create table account (id int primary key, n bigint not null) with (fillfactor = 10)");
  session.run(fmt::format("insert into account select i, 0 from generate_series(0, {}) i", kClients - 1));
  const auto committed = [&] { return std::stoll(session.value("select sum(n) from account")); };
  Report report("enqueue", fmt::format("transactions with one UPDATE, {} clients, synchronous commit, payload 1 KB; "
                                       "CPU and memory are the clients'",
                                       kClients));
  const std::vector<std::pair<std::string, Enqueue>> ways{{"no message", nothing},
                                                          {"INSERT", by_insert},
                                                          {"outbox_send()", by_function},
                                                          {"the library, libpq", by_library}};
  for (int round = 0; round < rig.rounds; ++round) {
    for (const auto& [name, way] : ways) {
      session.run("truncate outbox");
      session.run("vacuum account");
      session.run("checkpoint");
      const std::int64_t before = committed();
      const Usage usage =
          measure([&, &enqueue = way] { all_clients(database.url(), transactions / kClients, enqueue); });
      report.add(name, committed() - before, usage);
    }
  }
  report.finish(rig, "no message");
}

}  // namespace

}  // namespace outbox::bench

int main(int argc, char** argv) { return outbox::bench::run_benchmark(argc, argv, outbox::bench::benchmark); }
