// A source's connection: opened, checked and prepared anew when it was lost.
//
// The statements are prepared under names, so a source needs a connection of its own: not one of a transaction pooler.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "db/postgres.h"
#include "model/record.h"

namespace outbox {

class PollSession {
 public:
  using Statements = std::vector<std::pair<std::string, std::string>>;  // name, SQL

  // `settings`: SQL for each new connection, "" for none.
  PollSession(std::string url, std::string settings, Statements statements);

  // Keeps a connection that is sound. `refused` on a standby, which shows the past.
  Result<void> open();
  // Null before the first open().
  db::PgConnection* connection() { return connection_.get(); }

 private:
  std::string url_;
  std::string settings_;
  Statements statements_;
  std::unique_ptr<db::PgConnection> connection_;
};

// How many rows to ask for, so that a page of large rows stays within its bytes without asking for many in vain.
class PageSize {
 public:
  std::size_t limit(std::size_t max_records) const { return std::min(max_records, rows_); }
  void was_cut(std::size_t rows) { rows_ = std::max<std::size_t>(rows, 1); }
  void was_whole() { rows_ = std::min(rows_ * 2, kMost); }

 private:
  static constexpr std::size_t kMost = 1u << 20;
  std::size_t rows_ = kMost;
};

// Collects the records of one statement up to a number of bytes.
struct PageRows {
  std::vector<RecordPtr> records;
  std::size_t bytes = 0;
  bool cut = false;

  // False: the page is full by its bytes.
  bool add(RecordPtr record, std::size_t max_bytes) {
    bytes += record->bytes();
    records.push_back(std::move(record));
    cut = bytes >= max_bytes;
    return !cut;
  }
};

}  // namespace outbox
