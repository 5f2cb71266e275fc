#include "store/postgres/dead_letters.h"

#include <fmt/format.h>

#include "model/headers.h"
#include "store/audit_trail.h"
#include "store/postgres/operator_rows.h"
#include "store/postgres/park_rows.h"

namespace outbox {

namespace {

struct DeadRow {
  std::int64_t row = 0;
  std::string sink;
  std::int64_t ord = 0;
  std::string key;
  std::string message_id;
  int replays = 0;
  std::string died_of;
};

constexpr const char* kDeadColumns =
    "d.delivery_id, d.sink, d.ord, d.key, d.message_id, d.replays, d.attempts, d.reason, d.last_error";

DeadRow dead_from(const db::PgRows& rows, int row) {
  return {rows.integer(row, 0),
          rows.text(row, 1),
          rows.integer(row, 2),
          rows.text(row, 3),
          rows.text(row, 4),
          static_cast<int>(rows.integer(row, 5)),
          died_of(rows.text(row, 7), static_cast<int>(rows.integer(row, 6)), rows.text(row, 8))};
}

PgConditions ahead_of(const DeadLetterWalk& walk) {
  PgConditions conditions;
  conditions.add("d.state = 'dead'");
  add_filter(conditions, walk.filter);
  conditions.add("d.changed_at <= " + conditions.parameter(db::pg_time(walk.until)) + "::timestamptz");
  if (walk.row != 0) {
    conditions.add("(d.sink, d.ord, d.delivery_id) > (" + conditions.parameter(walk.sink) + ", " +
                   conditions.parameter(std::to_string(walk.ord)) + "::bigint, " +
                   conditions.parameter(std::to_string(walk.row)) + "::bigint)");
  }
  return conditions;
}

// The next rows of the walk, locked.
Result<std::vector<DeadRow>> next_rows(db::PgConnection& connection, const PgNames& names, const DeadLetterWalk& walk,
                                       std::size_t max_rows) {
  PgConditions conditions = ahead_of(walk);
  const auto limit = conditions.parameter(std::to_string(max_rows));
  auto rows =
      connection.query("select " + std::string(kDeadColumns) + " from " + names.delivery + " d" + conditions.where() +
                           " order by d.sink, d.ord, d.delivery_id limit " + limit + "::bigint for update",
                       conditions.values());
  if (!rows) return rows.failure();
  std::vector<DeadRow> found;
  found.reserve(static_cast<std::size_t>(rows->size()));
  for (int i = 0; i < rows->size(); ++i) found.push_back(dead_from(*rows, i));
  return found;
}

Result<void> write_audit(db::PgConnection& connection, const PgNames& names, const std::string& action,
                         const std::vector<DeadRow>& rows, const Act& act) {
  std::vector<std::string> sinks, ids, details;
  for (const DeadRow& row : rows) {
    sinks.push_back(row.sink);
    ids.push_back(row.message_id);
    details.push_back(storable(row.died_of));
  }
  auto written = connection.query(
      "insert into " + names.audit +
          " (actor, action, sink, message_id, reason, detail) select $1, $2, u.sink, u.id, $3, u.detail from"
          " unnest($4::text[], $5::text[], $6::text[]) with ordinality as u (sink, id, detail, n) order by u.n",
      {storable(act.actor), action, storable(act.reason), sql_array(sinks), sql_array(ids), sql_array(details)});
  if (!written) return written.failure();
  return {};
}

// `set` is what becomes of the rows; their keys go on.
Result<void> change(db::PgConnection& connection, const PgNames& names, const std::vector<DeadRow>& rows,
                    const std::string& set) {
  std::vector<std::int64_t> ids;
  std::vector<std::string> sinks, keys;
  for (const DeadRow& row : rows) {
    ids.push_back(row.row);
    sinks.push_back(row.sink);
    keys.push_back(row.key);
  }
  auto changed = connection.query("update " + names.delivery +
                                      " set changed_at = now(), holds_key = false, next_attempt_at = null, " + set +
                                      " where delivery_id = any($1::bigint[])",
                                  {sql_array(ids)});
  if (!changed) return changed.failure();
  return promote_heads(connection, names, sinks, keys);
}

// Its attempts are all before it; whether its destination was closed does not matter any more.
constexpr const char* kWaiting =
    "state = 'waiting', attempts = 0, replays = replays + 1, charged = true, not_due = false";
constexpr const char* kDiscarded = "state = 'discarded', body = null, reason = ";

// One transaction: takes the next rows, leaves out those that were replayed `replays_max` times, changes the others.
Result<WalkStep> step_on(PgSession& session, DeadLetterWalk& walk, std::optional<int> replays_max, const PgStep& step,
                         const std::string& action, const std::string& set) {
  auto opened = operator_connection(session);
  if (!opened) return opened.failure();
  auto& connection = **opened;
  const auto& names = session.names();
  auto transaction = db::PgTransaction::begin(connection);
  if (!transaction) return transaction.failure();
  if (auto held = hold_relays(connection, names); !held) return held.failure();
  auto rows = next_rows(connection, names, walk, step.max_rows);
  if (!rows) return rows.failure();
  WalkStep done;
  done.end = rows->size() < step.max_rows;
  DeadLetterWalk next = walk;
  if (!rows->empty()) {
    next.sink = rows->back().sink;
    next.ord = rows->back().ord;
    next.row = rows->back().row;
  }
  const auto found = rows->size();
  if (replays_max) std::erase_if(*rows, [&](const DeadRow& row) { return row.replays >= *replays_max; });
  done.changed = static_cast<std::int64_t>(rows->size());
  done.refused = static_cast<std::int64_t>(found) - done.changed;
  if (!rows->empty()) {
    if (auto changed = change(connection, names, *rows, set); !changed) return changed.failure();
    if (auto written = write_audit(connection, names, action, *rows, step.act); !written) return written.failure();
  }
  if (auto committed = transaction->commit(); !committed) return committed.failure();
  walk = std::move(next);
  return done;
}

Result<void> write_audit_of_replacement(db::PgConnection& connection, const PgNames& names, const DeadRow& dead,
                                        const std::string& new_id, const Act& act) {
  for (const AuditLine& line : audit_of_replacement(dead.message_id, new_id, dead.died_of)) {
    DeadRow row = dead;
    row.message_id = line.message_id;
    row.died_of = line.detail;
    if (auto written = write_audit(connection, names, line.action, {row}, act); !written) return written;
  }
  return {};
}

// The row with another id, body and headers, at the same place.
Result<void> insert_successor(db::PgConnection& connection, const PgNames& names, std::int64_t row,
                              const std::string& new_id, const std::string& payload, const std::string& headers) {
  auto inserted = connection.query(
      "insert into " + names.delivery +
          " (message_id, body, headers, state, charged, sink, lane, ord, key, owner, seq, xid, aggregate_type,"
          " aggregate_id, type, body_is_json, traceparent, aggregate_version, schema_version, created_at, not_before)"
          " select $2, $3::bytea, $4, 'waiting', true, sink, lane, ord, key, owner, seq, xid, aggregate_type,"
          " aggregate_id, type, body_is_json, traceparent, aggregate_version, schema_version, created_at, not_before"
          " from " +
          names.delivery + " where delivery_id = $1::bigint",
      {std::to_string(row), new_id, db::pg_bytea(payload), headers});
  if (!inserted) return inserted.failure();
  return {};
}

}  // namespace

Result<void> hold_relays(db::PgConnection& connection, const PgNames& names) {
  auto held = connection.run("set local idle_in_transaction_session_timeout = '10s'; select from " + names.position +
                             " order by sink, lane for update");
  if (!held) return held.failure();
  return {};
}

Result<WalkStep> count_dead(PgSession& session, const DeadLetterWalk& walk, int replays_max) {
  auto opened = operator_connection(session);
  if (!opened) return opened.failure();
  PgConditions conditions = ahead_of(walk);
  const auto most = conditions.parameter(std::to_string(replays_max));
  auto rows = (*opened)->query("select count(*) filter (where d.replays < " + most + "::int), count(*) from " +
                                   session.names().delivery + " d" + conditions.where(),
                               conditions.values());
  if (!rows) return rows.failure();
  return WalkStep{rows->integer(0, 0), rows->integer(0, 1) - rows->integer(0, 0), true};
}

Result<WalkStep> requeue_dead(PgSession& session, DeadLetterWalk& walk, int replays_max, const PgStep& step) {
  return step_on(session, walk, replays_max, step, "requeued", kWaiting);
}

Result<WalkStep> discard_dead(PgSession& session, DeadLetterWalk& walk, const PgStep& step) {
  return step_on(session, walk, std::nullopt, step, "discarded", std::string(kDiscarded) + "'discarded'");
}

Result<bool> replace_dead(PgSession& session, std::int64_t row, const std::string& new_id, const std::string& payload,
                          int replays_max, const Act& act) {
  auto opened = operator_connection(session);
  if (!opened) return opened.failure();
  auto& connection = **opened;
  const auto& names = session.names();
  auto transaction = db::PgTransaction::begin(connection);
  if (!transaction) return transaction.failure();
  if (auto held = hold_relays(connection, names); !held) return held.failure();
  auto rows = connection.query("select " + std::string(kDeadColumns) + ", d.headers from " + names.delivery +
                                   " d where d.delivery_id = $1::bigint and d.state = 'dead' for update",
                               {std::to_string(row)});
  if (!rows) return rows.failure();
  if (rows->empty()) return false;
  const std::vector<DeadRow> dead{dead_from(*rows, 0)};
  if (new_id.empty()) {
    if (dead.front().replays >= replays_max) return false;
    auto edited = connection.query("update " + names.delivery + " set body = $2::bytea where delivery_id = $1::bigint",
                                   {std::to_string(row), db::pg_bytea(payload)});
    if (!edited) return edited.failure();
    if (auto changed = change(connection, names, dead, kWaiting); !changed) return changed.failure();
  } else {
    auto headers = with_header(rows->text(0, 9), kReplacesHeader, dead.front().message_id);
    if (!headers) return headers.failure();
    auto inserted = insert_successor(connection, names, row, new_id, payload, *headers);
    if (!inserted) return inserted.failure();
    if (auto changed = change(connection, names, dead, std::string(kDiscarded) + "'replaced'"); !changed) {
      return changed.failure();
    }
  }
  const auto written = write_audit_of_replacement(connection, names, dead.front(), new_id, act);
  if (!written) return written.failure();
  if (auto committed = transaction->commit(); !committed) return committed.failure();
  return true;
}

}  // namespace outbox
