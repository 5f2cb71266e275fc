#include "store/sqlite/dead_letters.h"

#include "base/json_writer.h"
#include "base/utf8.h"
#include "db/sqlite_table.h"
#include "model/headers.h"
#include "store/audit_trail.h"
#include "store/sqlite/parked.h"

namespace outbox {
namespace {

constexpr std::size_t kTextMax = 4096;

// ?1 to ?7 are filter_values(); what is empty or NULL asks for nothing.
constexpr std::string_view kFilter =
    "(?1 IS NULL OR message_id IN (SELECT value FROM json_each(?1))) AND (?2 = '' OR sink = ?2) AND (?3 = '' OR key = "
    "?3) AND (?4 = '' OR type = ?4) AND (?5 = '' OR owner = ?5) AND (?6 = '' OR reason = ?6) AND (?7 IS NULL OR "
    "updated_at >= ?7)";

constexpr std::string_view kWalk =
    " WHERE state = 'dead' AND updated_at <= ?8 AND (?11 = 0 OR (sink, ord, row) > (?9, ?10, ?11)) AND ";

std::optional<std::string> ids_of(const DeliveryFilter& filter) {
  if (filter.message_ids.empty()) return std::nullopt;
  JsonWriter json;
  json.begin_array();
  for (const auto& id : filter.message_ids) json.value(id);
  json.end_array();
  return json.text();
}

constexpr std::string_view kInfoColumns =
    "SELECT state, message_id, sink, aggregate_type, aggregate_id, type, created_at, row, attempts, replays, "
    "holds_key, next_attempt_at, reason, last_error, owner, parked_at, updated_at, discarded FROM outbox_delivery "
    "WHERE ";

DeliveryInfo read_info(const db::SqliteRows& row) {
  DeliveryInfo info;
  info.state = row.integer(17) != 0 ? "discarded" : row.text(0);
  info.message_id = row.text(1);
  info.sink = row.text(2);
  info.aggregate_type = row.text(3);
  info.aggregate_id = row.text(4);
  info.type = row.text(5);
  info.created_at = row.time(6);
  info.row = row.integer(7);
  info.attempts = static_cast<int>(row.integer(8));
  info.replays = static_cast<int>(row.integer(9));
  info.holds_key = row.integer(10) != 0;
  if (info.state == "waiting") info.next_attempt = row.time(11);
  info.reason = row.text(12);
  info.error = row.text(13);
  info.owner = row.text(14);
  info.parked_at = row.time(15);
  info.changed_at = row.time(16);
  return info;
}

}  // namespace

std::string DeadLetterTable::sql(std::string_view text) const { return db::with_prefix(text, prefix_); }

Result<std::vector<DeliveryInfo>> DeadLetterTable::list(const std::string& state, const DeliveryFilter& filter,
                                                        std::size_t limit) {
  const auto ids = ids_of(filter);
  auto rows = state_.query(sql(std::string(kInfoColumns) + std::string(kFilter) +
                               " AND (?8 = '' OR state = ?8) ORDER BY sink, ord, row LIMIT ?9"),
                           {ids, filter.sink, filter.key, filter.type, filter.owner, filter.reason, filter.since, state,
                            static_cast<std::int64_t>(limit)});
  if (!rows) return rows.failure();
  std::vector<DeliveryInfo> found;
  while (true) {
    auto row = rows->next();
    if (!row) return row.failure();
    if (!*row) return found;
    found.push_back(read_info(*rows));
  }
}

Result<WalkStep> DeadLetterTable::count(const DeadLetterWalk& walk, int replays_max) {
  const auto& filter = walk.filter;
  const auto ids = ids_of(filter);
  auto rows = state_.query(sql("SELECT coalesce(sum(replays < ?12), 0), count(*) FROM outbox_delivery" +
                               std::string(kWalk) + std::string(kFilter)),
                           {ids, filter.sink, filter.key, filter.type, filter.owner, filter.reason, filter.since,
                            walk.until, walk.sink, walk.ord, walk.row, replays_max});
  if (!rows) return rows.failure();
  auto row = rows->next();
  if (!row) return row.failure();
  return WalkStep{rows->integer(0), rows->integer(1) - rows->integer(0), true};
}

Result<std::vector<DeadLetterTable::Row>> DeadLetterTable::next_rows(const DeadLetterWalk& walk, std::size_t max_rows) {
  const auto& filter = walk.filter;
  const auto ids = ids_of(filter);
  auto rows = state_.query(
      sql("SELECT row, sink, ord, key, message_id, replays, attempts, reason, last_error FROM outbox_delivery" +
          std::string(kWalk) + std::string(kFilter) + " ORDER BY sink, ord, row LIMIT ?12"),
      {ids, filter.sink, filter.key, filter.type, filter.owner, filter.reason, filter.since, walk.until, walk.sink,
       walk.ord, walk.row, static_cast<std::int64_t>(max_rows)});
  if (!rows) return rows.failure();
  std::vector<Row> found;
  while (true) {
    auto row = rows->next();
    if (!row) return row.failure();
    if (!*row) return found;
    found.push_back(
        {rows->integer(0), std::string(rows->text(1)), rows->integer(2), std::string(rows->text(3)),
         std::string(rows->text(4)), static_cast<int>(rows->integer(5)),
         died_of(std::string(rows->text(7)), static_cast<int>(rows->integer(6)), std::string(rows->text(8)))});
  }
}

// Without a bound on the replays the rows are discarded.
Result<WalkStep> DeadLetterTable::step(DeadLetterWalk& walk, std::optional<int> replays_max, std::size_t max_rows,
                                       const Act& act, Time now) {
  auto transaction = db::SqliteTransaction::begin(state_);
  if (!transaction) return transaction.failure();
  auto rows = next_rows(walk, max_rows);
  if (!rows) return rows.failure();
  WalkStep done;
  done.end = rows->size() < max_rows;
  for (const Row& row : *rows) {
    if (replays_max && row.replays >= *replays_max) {
      ++done.refused;
      continue;
    }
    ++done.changed;
    auto changed = replays_max ? make_waiting(row, now) : make_discarded(row, "discarded", now);
    if (!changed) return changed.failure();
    auto written = write_audit(row, replays_max ? "requeued" : "discarded", act, row.died_of, now);
    if (!written) return written.failure();
  }
  if (auto committed = transaction->commit(); !committed) return committed.failure();
  if (!rows->empty()) {
    walk.sink = rows->back().sink;
    walk.ord = rows->back().ord;
    walk.row = rows->back().row;
  }
  return done;
}

Result<WalkStep> DeadLetterTable::requeue(DeadLetterWalk& walk, int replays_max, std::size_t max_rows, const Act& act,
                                          Time now) {
  return step(walk, replays_max, max_rows, act, now);
}

Result<WalkStep> DeadLetterTable::discard(DeadLetterWalk& walk, std::size_t max_rows, const Act& act, Time now) {
  return step(walk, std::nullopt, max_rows, act, now);
}

// Its attempts are all before it; whether its destination was closed does not matter any more.
Result<void> DeadLetterTable::make_waiting(const Row& row, Time now) {
  auto changed = state_.run(sql("UPDATE outbox_delivery SET state = 'waiting', attempts = 0, replays = replays + 1, "
                                "charged = 1, not_due = 0, "
                                "holds_key = 0, turn = 0, next_attempt_at = ?1, updated_at = ?1 WHERE row = ?2"),
                            {now, row.row});
  if (!changed) return changed.failure();
  return ParkedTable(state_, prefix_).pass_turn(row.sink, row.key);
}

Result<void> DeadLetterTable::make_discarded(const Row& row, const std::string& reason, Time now) {
  auto changed = state_.run(sql("UPDATE outbox_delivery SET state = 'done', discarded = 1, reason = ?1, holds_key = 0, "
                                "turn = 0, payload = NULL, updated_at = ?2 WHERE row = ?3"),
                            {reason, now, row.row});
  if (!changed) return changed.failure();
  return ParkedTable(state_, prefix_).pass_turn(row.sink, row.key);
}

Result<void> DeadLetterTable::insert_successor(const Row& row, const std::string& new_id, const std::string& payload,
                                               Time now) {
  auto old = state_.text(sql("SELECT headers FROM outbox_delivery WHERE row = ?"), {row.row});
  if (!old) return old.failure();
  auto headers = with_header(old->value_or(""), kReplacesHeader, row.message_id);
  if (!headers) return headers.failure();
  auto inserted = state_.run(
      sql("INSERT INTO outbox_delivery (message_id, payload, headers, state, charged, next_attempt_at, reason, "
          "last_error, parked_at, updated_at, sink, ord, key, owner, seq, aggregate_type, aggregate_id, type, "
          "payload_json, traceparent, created_at, not_before, aggregate_version, schema_version) SELECT ?1, ?2, ?3, "
          "'waiting', 1, ?4, '', '', ?4, ?4, sink, ord, key, owner, seq, aggregate_type, aggregate_id, type, "
          "payload_json, traceparent, created_at, not_before, aggregate_version, schema_version FROM outbox_delivery "
          "WHERE row = ?5"),
      {new_id, db::Blob{payload}, *headers, now, row.row});
  if (!inserted) return inserted.failure();
  return {};
}

Result<bool> DeadLetterTable::replace(std::int64_t row, const std::string& new_id, const std::string& payload,
                                      int replays_max, const Act& act, Time now) {
  auto transaction = db::SqliteTransaction::begin(state_);
  if (!transaction) return transaction.failure();
  Row dead;
  {
    auto rows = state_.query(sql("SELECT sink, key, message_id, replays, attempts, reason, last_error FROM "
                                 "outbox_delivery WHERE row = ? AND state = 'dead'"),
                             {row});
    if (!rows) return rows.failure();
    auto found = rows->next();
    if (!found) return found.failure();
    if (!*found) return false;
    dead = {row,
            std::string(rows->text(0)),
            0,
            std::string(rows->text(1)),
            std::string(rows->text(2)),
            static_cast<int>(rows->integer(3)),
            died_of(std::string(rows->text(5)), static_cast<int>(rows->integer(4)), std::string(rows->text(6)))};
  }
  Result<void> done;
  if (new_id.empty()) {
    if (dead.replays >= replays_max) return false;
    auto edited =
        state_.run(sql("UPDATE outbox_delivery SET payload = ? WHERE row = ?"), {db::Blob{payload}, dead.row});
    if (!edited) return edited.failure();
    done = make_waiting(dead, now);
  } else {
    if (auto inserted = insert_successor(dead, new_id, payload, now); !inserted) return inserted.failure();
    done = make_discarded(dead, "replaced", now);
  }
  if (!done) return done.failure();
  if (auto written = write_audit_of_replacement(dead, new_id, act, now); !written) return written.failure();
  if (auto committed = transaction->commit(); !committed) return committed.failure();
  return true;
}

Result<void> DeadLetterTable::write_audit_of_replacement(const Row& dead, const std::string& new_id, const Act& act,
                                                         Time now) {
  for (const AuditLine& line : audit_of_replacement(dead.message_id, new_id, dead.died_of)) {
    Row row = dead;
    row.message_id = line.message_id;
    if (auto written = write_audit(row, line.action, act, line.detail, now); !written) return written;
  }
  return {};
}

Result<void> DeadLetterTable::write_audit(const Row& row, const std::string& action, const Act& act,
                                          const std::string& detail, Time now) {
  auto written = state_.run(sql("INSERT INTO outbox_audit (at, actor, action, sink, message_id, reason, detail) VALUES "
                                "(?, ?, ?, ?, ?, ?, ?)"),
                            {now, valid_utf8(act.actor, kTextMax), action, row.sink, row.message_id,
                             valid_utf8(act.reason, kTextMax), valid_utf8(detail, kTextMax)});
  if (!written) return written.failure();
  return {};
}

}  // namespace outbox
