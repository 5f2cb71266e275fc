#include "fault/postgres_shop.h"

#include <condition_variable>
#include <mutex>
#include <random>

namespace outbox::test {
namespace {

constexpr const char* kTables = R"sql(
  create table aggregate (key text primary key, n bigint not null default 0, most bigint);
  create table ledger (id text primary key, key text not null, n bigint not null, at timestamptz not null);
  create function trade(k text) returns void language plpgsql as $$
    declare c bigint; m uuid;
    begin
      update aggregate set n = n + 1 where key = k and (n < most or most is null) returning n into c;
      if c is null then return; end if;
      m := outbox_send('order', k, 'Traded', '{"n": ' || c || ', "text": "' || repeat('x', 400) || '"}');
      insert into ledger values (m, k, c, clock_timestamp());
    end $$;
)sql";
constexpr int kRollbackPercent = 15;

struct Close {
  void operator()(PGconn* connection) const { PQfinish(connection); }
};

bool said(PGconn* connection, const std::string& sql) {
  PGresult* result = PQexec(connection, sql.c_str());
  const ExecStatusType status = PQresultStatus(result);
  PQclear(result);
  return status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK;
}

}  // namespace

PostgresShop::PostgresShop(PostgresDatabase& database, int keys, int messages_per_key)
    : database_(database), keys_(keys) {
  database_.execute(kTables);
  database_.execute("insert into aggregate (key, most) select 'k' || i, nullif(" + std::to_string(messages_per_key) +
                    ", 0) from generate_series(1, " + std::to_string(keys) + ") i");
}

void PostgresShop::start(int writers, int rate, std::uint64_t seed) {
  for (int i = 0; i < writers; ++i) {
    writers_.emplace_back([this, rate, own = seed * 1000 + static_cast<std::uint64_t>(i)](const std::stop_token& stop) {
      write(stop, rate, own);
    });
  }
}

void PostgresShop::stop() { writers_.clear(); }

void PostgresShop::write(const std::stop_token& stop, int rate, std::uint64_t seed) {
  std::mt19937_64 dice(seed);
  std::mutex mutex;
  std::condition_variable_any pause;
  std::unique_ptr<PGconn, Close> connection;
  auto next = std::chrono::steady_clock::now();
  while (!stop.stop_requested()) {
    next += std::chrono::microseconds(1'000'000 / rate);
    std::unique_lock lock(mutex);
    pause.wait_until(lock, stop, next, [] { return false; });
    if (!connection || PQstatus(connection.get()) != CONNECTION_OK) {
      connection.reset(PQconnectdb(database_.url().c_str()));
      next = std::chrono::steady_clock::now();
      continue;
    }
    const bool commits = static_cast<int>(dice() % 100) >= kRollbackPercent;
    const std::string key = "k" + std::to_string(dice() % static_cast<std::uint64_t>(keys_) + 1);
    if (!said(connection.get(), "begin") || !said(connection.get(), "select trade('" + key + "')")) continue;
    if (!said(connection.get(), commits ? "commit" : "rollback")) continue;
    ++answered_;
    if (!commits) ++rolled_back_;
  }
}

void PostgresShop::burst(int messages) {
  // In the order of the keys, so that two of these, and a writer, never wait for each other in a ring.
  database_.execute("select trade('k' || (i % " + std::to_string(keys_) + " + 1)) from generate_series(1, " +
                    std::to_string(messages) + ") i order by i % " + std::to_string(keys_));
}

std::vector<PostgresShop::Entry> PostgresShop::ledger() {
  std::vector<Entry> entries;
  for (const auto& row : database_.query("select id, key, n, (extract(epoch from at) * 1000)::bigint from ledger")) {
    entries.push_back({{*row[0], *row[1], std::stoll(*row[2])}, std::stoll(*row[3])});
  }
  return entries;
}

std::vector<std::string> PostgresShop::dead_letters() {
  std::vector<std::string> dead;
  for (const auto& row : database_.query("select message_id from outbox_delivery where state = 'dead'")) {
    dead.push_back(*row[0]);
  }
  return dead;
}

}  // namespace outbox::test
