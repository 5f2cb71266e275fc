#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>

#include "base/log.h"
#include "base/utf8.h"
#include "db/sqlite_time.h"
#include "store/audit_trail.h"
#include "store/sqlite/history.h"
#include "store/sqlite/operations.h"
#include "store/sqlite/parked.h"
#include "store/sqlite/places.h"

namespace outbox {
namespace {

constexpr std::size_t kTextMax = 4096;

// Where every position stands, and where every position stood before `time`. Nothing if a sink has none yet.
struct Passed {
  std::int64_t now = std::numeric_limits<std::int64_t>::max();
  std::int64_t before = std::numeric_limits<std::int64_t>::max();
};

Result<std::optional<Passed>> passed_by_all(const SqliteFiles& files, const std::vector<Feed>& feeds, Time time) {
  Places places(files.state, files.prefix);
  History history(files.state, files.prefix);
  Passed passed;
  for (const auto& feed : feeds) {
    auto place = places.find(feed.name);
    if (!place) return place.failure();
    if (!*place) return std::optional<Passed>{};
    // In a file that was restored the numbers behind the position are those of other messages, until it is taken over.
    auto stands = db::stands(files.application, files.table, {(*place)->position.seq, (*place)->message_id});
    if (!stands) return stands.failure();
    if (!*stands) return std::optional<Passed>{};
    auto before = history.passed_before(feed.name, time);
    if (!before) return before.failure();
    passed.now = std::min(passed.now, (*place)->position.seq);
    passed.before = std::min(passed.before, *before);
  }
  if (feeds.empty()) return std::optional<Passed>{};
  return std::optional{passed};
}

// The lowest rows, as long as each is old enough: by its own time, or because it was passed that long ago (a row whose
// created_at lies in the future must not stand in the way for ever). Where numbers are given out again the row at the
// position itself stays, or the next message would get a number that was passed. Returns the end, exclusive.
Result<std::pair<std::int64_t, std::int64_t>> prunable(const SqliteFiles& files, const Passed& passed, Time before,
                                                       std::int64_t max_rows) {
  std::int64_t end = 0;
  std::int64_t count = 0;
  auto rows = files.application.query(fmt::format("SELECT {0}, {1} FROM {2} WHERE {0} <= ? ORDER BY {0} LIMIT ?",
                                                  files.table.seq, files.table.column("created_at"), files.table.name),
                                      {files.table.autoincrement ? passed.now : passed.now - 1, max_rows});
  if (!rows) return rows.failure();
  while (true) {
    auto row = rows->next();
    if (!row) return row.failure();
    if (!*row) break;
    const auto seq = rows->integer(0);
    const auto created = db::read_sqlite_time(*rows, 1);
    if (seq > passed.before && (!created || *created >= before)) break;
    end = seq + 1;
    ++count;
  }
  return std::pair{end, count};
}

}  // namespace

Result<std::int64_t> prune_sent(const SqliteFiles& files, const std::vector<Feed>& feeds, Duration retain,
                                std::int64_t max_rows, bool dry_run, Time now) {
  auto passed = passed_by_all(files, feeds, now - retain);
  if (!passed) return passed.failure();
  if (!*passed) return std::int64_t{0};
  auto range = prunable(files, **passed, now - retain, max_rows);
  if (!range) return range.failure();
  if (dry_run || range->second == 0) return range->second;

  auto transaction = db::SqliteTransaction::begin(files.application);
  if (!transaction) return transaction.failure();
  auto deleted = files.application.run(fmt::format("DELETE FROM {} WHERE {} < ?", files.table.name, files.table.seq),
                                       {range->first});
  if (!deleted) return deleted.failure();
  auto committed = transaction->commit();
  if (!committed) return committed.failure();
  return *deleted;
}

Result<std::int64_t> prune_parked(const SqliteFiles& files, const std::vector<Feed>& feeds,
                                  const Store::Retention& retention, std::int64_t max_rows, bool dry_run, Time now) {
  const auto sql = [&](std::string_view text) { return db::with_prefix(text, files.prefix); };
  std::map<std::string, std::string> dead;  // by sink: what went
  auto transaction = db::SqliteTransaction::begin(files.state);
  if (!transaction) return transaction.failure();
  ParkedTable parked(files.state, files.prefix);
  std::int64_t gone = 0;
  for (const auto& feed : feeds) {
    for (const auto& sink : feed.sinks) {
      if (retention.dead) {
        auto dropped = parked.drop_dead(sink, now - *retention.dead, max_rows - gone);
        if (!dropped) return dropped.failure();
        gone += *dropped;
        if (*dropped > 0) dead[sink] = retained_detail(*dropped, *retention.dead);
      }
      auto finished = files.state.run(
          sql("DELETE FROM outbox_delivery WHERE row IN (SELECT row FROM outbox_delivery WHERE sink = ?1 AND state = "
              "'done' AND seq <= (SELECT seq FROM outbox_position WHERE sink = ?1) LIMIT ?2)"),
          {sink, max_rows - gone});
      if (!finished) return finished.failure();
      gone += *finished;
    }
  }
  if (dry_run) return gone;  // and the transaction is rolled back
  for (const auto& [sink, detail] : dead) {
    auto written = files.state.run(
        sql("INSERT INTO outbox_audit (at, actor, action, sink, reason, detail) VALUES (?, ?, 'discarded', ?, ?, ?)"),
        {now, valid_utf8(retention.actor, kTextMax), sink, kRetained, detail});
    if (!written) return written.failure();
  }
  auto committed = transaction->commit();
  if (!committed) return committed.failure();
  for (const auto& [sink, detail] : dead) {
    log::warn("dead letters deleted", {{"sink", sink}, {"what", detail}, {"why", kRetained}});
  }
  return gone;
}

}  // namespace outbox
