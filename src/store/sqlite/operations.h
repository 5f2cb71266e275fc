// What nobody waits for on the hot path: heartbeat, status, retention.
#pragma once

#include <string>
#include <vector>

#include "db/sqlite.h"
#include "db/sqlite_table.h"
#include "store/store.h"

namespace outbox {

// Both files, open, and what is needed to speak to them.
struct SqliteFiles {
  db::Sqlite& state;
  db::Sqlite& application;
  const db::SqliteTable& table;
  const std::string& prefix;
};

Result<void> write_heartbeat(db::Sqlite& state, const std::string& prefix, const Heartbeat& beat, Time now);
Result<std::vector<SinkPause>> read_pauses(db::Sqlite& state, const std::string& prefix);
Result<StoreStatus> read_status(const SqliteFiles& files, const std::vector<Feed>& feeds, Time now);

// In the relay's own file: dead letters and tombstones.
Result<std::int64_t> prune_parked(const SqliteFiles& files, const std::vector<Feed>& feeds,
                                  const Store::Retention& retention, std::int64_t max_rows, bool dry_run, Time now);

// Rows of the application's file behind a position, but for those that were settled ahead of it.
struct Behind {
  std::int64_t rows = 0;
  bool capped = false;         // counting stopped: there are more than `rows`
  std::optional<Time> oldest;  // created_at
};
Result<Behind> count_behind(const SqliteFiles& files, const Position& position);

// In the application's file, one short write transaction through `files.application`.
Result<std::int64_t> prune_sent(const SqliteFiles& files, const std::vector<Feed>& feeds, Duration retain,
                                std::int64_t max_rows, bool dry_run, Time now);

}  // namespace outbox
