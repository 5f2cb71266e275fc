// The demo's application: a small shop on SQLite that commits and rolls back orders, each with its message.
//
// What an application does, and nothing of the relay's: a transaction changes the order and enqueues a message with the
// public library. Beside it the same transaction writes the ledger (id, key, n) that the checker believes: n counts the
// messages of an order, taken while it is locked.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "app/checker.h"
#include "base/result.h"
#include "base/time.h"
#include "db/sqlite.h"

namespace outbox::app {

struct ShopOptions {
  std::filesystem::path folder;  // has to exist; shop.db is made in it
  std::uint64_t seed = 1;        // same seed, same sequence of orders
  int orders = 40;               // open at a time: so many keys
  Duration pause{5ms};           // between two transactions
  int rollback_percent = 15;
  int refused_percent = 1;  // orders that the partner will not take (an empty vat_id)
};

class DemoShop {
 public:
  // Makes the file, the shop's tables and the outbox.
  static Result<std::unique_ptr<DemoShop>> make(const ShopOptions& options);
  ~DemoShop();
  DemoShop(const DemoShop&) = delete;
  DemoShop& operator=(const DemoShop&) = delete;

  std::string url() const { return "sqlite:" + file_; }
  const std::string& file() const { return file_; }

  // Takes orders on a thread of its own, until stop() returns. What ended the thread early, if anything did, is there
  // afterwards.
  void start();
  Result<void> stop();
  // As the thread does, on the caller's, `count` transactions without pauses.
  Result<void> take_orders(int count);

  struct Counts {
    std::int64_t committed = 0;
    std::int64_t rolled_back = 0;
  };
  Counts counts() const { return {committed_.load(), rolled_back_.load()}; }

  // The truth, read from the file.
  Result<std::vector<LedgerRow>> ledger() const;

 private:
  class Till;

  DemoShop(ShopOptions options, std::string file);
  void work(const std::stop_token& stop);

  ShopOptions options_;
  std::string file_;
  std::unique_ptr<Till> till_;
  std::atomic<std::int64_t> committed_ = 0;
  std::atomic<std::int64_t> rolled_back_ = 0;
  Result<void> ended_;
  std::jthread thread_;
};

}  // namespace outbox::app
