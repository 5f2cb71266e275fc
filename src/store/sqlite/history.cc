#include "store/sqlite/history.h"

#include <fmt/format.h>

namespace outbox {
namespace {

constexpr std::int64_t kRows = 1000;       // a sample at least every so many rows,
constexpr Duration kInterval = 60s;        // or after this time
constexpr std::int64_t kSamples = 20'000;  // kept per sink

}  // namespace

Result<void> History::note(const std::string& sink, std::int64_t seq, const std::string& message_id, Time now) {
  {
    auto rows = state_.query(
        db::with_prefix("SELECT seq, passed_at FROM outbox_history WHERE sink = ? ORDER BY seq DESC LIMIT 1", prefix_),
        {sink});
    if (!rows) return rows.failure();
    auto row = rows->next();
    if (!row) return row.failure();
    if (*row && seq - rows->integer(0) < kRows && now - rows->time(1) < kInterval) return {};
  }
  auto noted =
      state_.run(db::with_prefix("INSERT INTO outbox_history (sink, seq, message_id, passed_at) VALUES (?, ?, ?, ?) "
                                 "ON CONFLICT (sink, seq) DO NOTHING",
                                 prefix_),
                 {sink, seq, message_id, now});
  if (!noted) return noted.failure();
  auto trimmed = state_.run(db::with_prefix("DELETE FROM outbox_history WHERE sink = ?1 AND seq <= (SELECT seq FROM "
                                            "outbox_history WHERE sink = ?1 ORDER BY seq DESC LIMIT 1 OFFSET ?2)",
                                            prefix_),
                            {sink, kSamples});
  if (!trimmed) return trimmed.failure();
  return {};
}

Result<std::int64_t> History::resume(db::Sqlite& application, const db::SqliteTable& table, const std::string& sink,
                                     std::int64_t seq, const std::optional<std::string>& id) {
  auto agrees = db::stands(application, table, {seq, id});
  if (!agrees) return agrees.failure();
  if (*agrees) return seq;

  std::int64_t resume_at = 0;
  {
    auto rows = state_.query(
        db::with_prefix("SELECT seq, message_id FROM outbox_history WHERE sink = ? AND seq < ? ORDER BY seq DESC",
                        prefix_),
        {sink, seq});
    if (!rows) return rows.failure();
    while (true) {
      auto row = rows->next();
      if (!row) return row.failure();
      if (!*row) break;
      auto found = db::message_at(application, table, rows->integer(0));
      if (!found) return found.failure();
      if (*found && **found == rows->text(1)) {
        resume_at = rows->integer(0);
        break;
      }
    }
  }
  auto forgotten =
      state_.run(db::with_prefix("DELETE FROM outbox_history WHERE sink = ? AND seq > ?", prefix_), {sink, resume_at});
  if (!forgotten) return forgotten.failure();
  return resume_at;
}

Result<std::int64_t> History::passed_before(const std::string& sink, Time time) {
  auto seq = state_.integer(
      db::with_prefix("SELECT max(seq) FROM outbox_history WHERE sink = ? AND passed_at < ?", prefix_), {sink, time});
  if (!seq) return seq.failure();
  return seq->value_or(0);
}

}  // namespace outbox
