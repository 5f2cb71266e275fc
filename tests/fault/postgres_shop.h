// An application on PostgreSQL: writers that count each aggregate under its row lock, enqueue, write the ledger in the
// same transaction, and commit or roll back.
#pragma once

#include <atomic>
#include <thread>
#include <vector>

#include "app/checker.h"
#include "support/postgres_database.h"

namespace outbox::test {

class PostgresShop {
 public:
  // Makes the application's tables beside the outbox, which has to be there; `keys` aggregates, each of which has so
  // many messages and no more (0: no limit).
  PostgresShop(PostgresDatabase& database, int keys, int messages_per_key = 0);
  ~PostgresShop() { stop(); }

  // `writers` threads that trade until stop(), about `rate` transactions a second each. A database that goes away is
  // waited for; what became of the commit that was under way is the ledger's to say.
  void start(int writers, int rate, std::uint64_t seed = 1);
  void stop();
  // One transaction with so many messages, over all keys.
  void burst(int messages);

  struct Entry {
    LedgerRow row;
    std::int64_t at_ms = 0;  // when it was written, shortly before its commit
  };
  std::vector<Entry> ledger();
  std::vector<std::string> dead_letters();
  std::int64_t rolled_back() const { return rolled_back_.load(); }
  std::int64_t answered() const { return answered_.load(); }  // transactions that ended, as far as the writers know

 private:
  void write(const std::stop_token& stop, int rate, std::uint64_t seed);

  PostgresDatabase& database_;
  int keys_;
  std::atomic<std::int64_t> rolled_back_ = 0;
  std::atomic<std::int64_t> answered_ = 0;
  std::vector<std::jthread> writers_;
};

}  // namespace outbox::test
