// A source's connection: opened, checked and prepared anew when it was lost.
//
// The statements are prepared, and the session is set up for them. Behind a transaction pooler (recognised by a backend
// that is not the one that was connected to) neither is possible: there each is planned anew, in a transaction of its
// own that ends with its settings.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "db/postgres.h"
#include "model/record.h"

namespace outbox {

class PollSession {
 public:
  using Statements = std::map<std::string, std::string>;  // SQL by name

  // `settings`: of the session, as "enable_seqscan = off".
  PollSession(std::string url, std::vector<std::string> settings, Statements statements);

  // Keeps a connection that is sound. `refused` on a standby, which shows the past.
  Result<void> open();

  // As those of PgConnection; `unavailable` before the first open().
  Result<db::PgRows> run(const std::string& sql);
  Result<void> stream(const std::string& name, const db::PgValues& values,
                      const std::function<bool(const db::PgRows&)>& row);

 private:
  Result<void> prepare();
  std::string set_sql(const std::string& set) const;

  std::string url_;
  std::vector<std::string> settings_;
  Statements statements_;
  std::unique_ptr<db::PgConnection> connection_;
  bool pooled_ = false;
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
