#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "db/sqlite_time.h"
#include "store/sqlite/operations.h"
#include "store/sqlite/parked.h"
#include "store/sqlite/places.h"

namespace outbox {
namespace {

constexpr std::int64_t kCountedRows = 10'000;

Result<SinkStatus> sink_status(const SqliteFiles& files, const std::string& sink, Time now) {
  SinkStatus status;
  ParkedTable parked(files.state, files.prefix);
  auto parking = parked.parking(sink, now);
  if (!parking) return parking.failure();
  status.parked = parking->counts;
  auto oldest = files.state.integer(
      db::with_prefix("SELECT min(created_at) FROM outbox_delivery WHERE sink = ? AND state = 'waiting'", files.prefix),
      {sink});
  if (!oldest) return oldest.failure();
  if (*oldest) status.oldest_waiting = Time(Duration(**oldest));
  auto error = files.state.query(
      db::with_prefix("SELECT last_error, updated_at FROM outbox_delivery WHERE sink = ? AND state IN ('waiting', "
                      "'dead') AND last_error <> '' ORDER BY updated_at DESC LIMIT 1",
                      files.prefix),
      {sink});
  if (!error) return error.failure();
  auto there = error->next();
  if (!there) return there.failure();
  if (*there) {
    status.last_error = error->text(0);
    status.last_error_at = error->time(1);
  }
  auto owners = files.state.query(
      db::with_prefix("SELECT owner, count(*) FROM outbox_delivery WHERE sink = ? AND state = 'dead' GROUP BY owner",
                      files.prefix),
      {sink});
  if (!owners) return owners.failure();
  while (true) {
    auto row = owners->next();
    if (!row) return row.failure();
    if (!*row) return status;
    status.dead_by_owner.emplace(owners->text(0), owners->integer(1));
  }
}

// Those that are fed, and those that deliveries still wait for.
Result<std::set<std::string>> sinks_of(const SqliteFiles& files, const std::vector<Feed>& feeds) {
  std::set<std::string> sinks;
  for (const auto& feed : feeds) sinks.insert(feed.sinks.begin(), feed.sinks.end());
  auto rows = files.state.query(db::with_prefix("SELECT sink FROM outbox_position", files.prefix));
  if (!rows) return rows.failure();
  while (true) {
    auto row = rows->next();
    if (!row) return row.failure();
    if (!*row) return sinks;
    sinks.emplace(rows->text(0));
  }
}

// Everything behind the slowest sink. What a sink has settled ahead of its position counts as sent only when there is
// no other sink.
Result<void> count_unsent(const SqliteFiles& files, const std::vector<Feed>& feeds, StoreStatus& status) {
  Places places(files.state, files.prefix);
  std::optional<Position> slowest;
  for (const auto& feed : feeds) {
    auto place = places.find(feed.name);
    if (!place) return place.failure();
    Position position;
    if (*place) {
      position = (*place)->position;
    } else if (!feed.from_beginning) {
      continue;
    }
    if (!slowest || position.seq < slowest->seq) slowest = position;
  }
  if (!slowest) return {};
  if (feeds.size() != 1) slowest->ahead.clear();
  auto behind = count_behind(files, *slowest);
  if (!behind) return behind.failure();
  status.unsent = behind->rows;
  status.unsent_is_capped = behind->capped;
  status.oldest_unsent = behind->oldest;
  return {};
}

// One relay has all of each feed, under the lock of FILE-outboxd.lock.
Result<void> read_shares(const SqliteFiles& files, StoreStatus& status) {
  status.has_leases = false;
  auto rows = files.state.query(db::with_prefix("SELECT sink, relay FROM outbox_position ORDER BY sink", files.prefix));
  if (!rows) return rows.failure();
  while (true) {
    auto row = rows->next();
    if (!row) return row.failure();
    if (!*row) return {};
    status.shares.push_back({std::string(rows->text(0)), {}, std::string(rows->text(1)), std::nullopt});
  }
}

}  // namespace

Result<Behind> count_behind(const SqliteFiles& files, const Position& position) {
  Behind behind;
  auto rows = files.application.query(fmt::format("SELECT {0}, {1} FROM {2} WHERE {0} > ? ORDER BY {0} LIMIT ?",
                                                  files.table.seq, files.table.column("created_at"), files.table.name),
                                      {position.seq, kCountedRows + 1});
  if (!rows) return rows.failure();
  const auto& ahead = position.ahead;
  while (true) {
    auto row = rows->next();
    if (!row) return row.failure();
    if (!*row) return behind;
    if (std::find(ahead.begin(), ahead.end(), RowRef{rows->integer(0), 0}) != ahead.end()) continue;
    if (behind.rows == kCountedRows) {
      behind.capped = true;
      return behind;
    }
    ++behind.rows;
    if (!behind.oldest) behind.oldest = db::read_sqlite_time(*rows, 1);
  }
}

Result<void> write_heartbeat(db::Sqlite& state, const std::string& prefix, const Heartbeat& beat, Time now) {
  // A relay that was stopped and beats again has started anew.
  auto written =
      state.run(db::with_prefix(
                    "INSERT INTO outbox_relay (name, started_at, seen_at, stopped, sinks) VALUES (?1, ?2, ?2, ?3, ?4) "
                    "ON CONFLICT (name) DO UPDATE SET started_at = CASE WHEN stopped = 1 AND ?3 = 0 THEN ?2 ELSE "
                    "started_at END, seen_at = ?2, stopped = ?3, sinks = ?4",
                    prefix),
                {beat.relay, now, int{beat.stopping}, beat.sinks_json});
  if (!written) return written.failure();
  return {};
}

Result<std::vector<SinkPause>> read_pauses(db::Sqlite& state, const std::string& prefix) {
  auto rows = state.query(db::with_prefix("SELECT sink, actor, reason, since FROM outbox_pause ORDER BY sink", prefix));
  if (!rows) return rows.failure();
  std::vector<SinkPause> pauses;
  while (true) {
    auto row = rows->next();
    if (!row) return row.failure();
    if (!*row) return pauses;
    pauses.push_back(
        {std::string(rows->text(0)), std::string(rows->text(1)), std::string(rows->text(2)), rows->time(3)});
  }
}

Result<StoreStatus> read_status(const SqliteFiles& files, const std::vector<Feed>& feeds, Time now) {
  StoreStatus status;
  status.database_now = now;
  auto sinks = sinks_of(files, feeds);
  if (!sinks) return sinks.failure();
  for (const auto& sink : *sinks) {
    auto read = sink_status(files, sink, now);
    if (!read) return read.failure();
    status.sinks.emplace(sink, std::move(*read));
  }
  auto pauses = read_pauses(files.state, files.prefix);
  if (!pauses) return pauses.failure();
  for (SinkPause& pause : *pauses) status.sinks[pause.sink].pause = pause;
  auto counted = count_unsent(files, feeds, status);
  if (!counted) return counted.failure();
  if (auto read = read_shares(files, status); !read) return read.failure();

  auto rows = files.state.query(db::with_prefix(
      "SELECT name, started_at, seen_at, stopped, sinks FROM outbox_relay ORDER BY name", files.prefix));
  if (!rows) return rows.failure();
  while (true) {
    auto row = rows->next();
    if (!row) return row.failure();
    if (!*row) break;
    status.relays.push_back(
        {std::string(rows->text(0)), rows->time(1), rows->time(2), rows->integer(3) != 0, std::string(rows->text(4))});
  }
  return status;
}

}  // namespace outbox
