#include "store/postgres/park_rows.h"

#include <array>
#include <utility>

#include "db/pg_lane.h"
#include "model/lanes.h"
#include "store/postgres/session.h"

namespace outbox {

namespace {

using db::PgValue;
using db::PgValues;

struct Column {
  const char* name;
  const char* type;
  PgValue (*value)(const Park&);
};

PgValue text_of(bool flag) { return flag ? "t" : "f"; }
template <class T>
PgValue number(const std::optional<T>& value) {
  return value ? PgValue(std::to_string(*value)) : PgValue();
}

constexpr std::array kColumns{
    Column{"message_id", "text", [](const Park& p) -> PgValue { return p.record->id; }},
    Column{"sink", "text", [](const Park& p) -> PgValue { return p.sink; }},
    Column{"key", "text", [](const Park& p) -> PgValue { return p.record->key; }},
    Column{"state", "text", [](const Park& p) -> PgValue { return std::string(to_string(p.state)); }},
    Column{"attempts", "int", [](const Park& p) -> PgValue { return std::to_string(p.attempts); }},
    Column{"charged", "bool", [](const Park& p) -> PgValue { return text_of(p.charged); }},
    Column{"not_due", "bool", [](const Park& p) -> PgValue { return text_of(p.not_due); }},
    Column{"holds_key", "bool", [](const Park& p) -> PgValue { return text_of(p.holds_key); }},
    Column{"next_attempt_at", "timestamptz", [](const Park& p) -> PgValue { return db::pg_time(p.next_attempt); }},
    Column{"reason", "text", [](const Park& p) -> PgValue { return storable(p.reason); }},
    Column{"last_error", "text", [](const Park& p) -> PgValue { return storable(p.error); }},
    Column{"owner", "text", [](const Park& p) -> PgValue { return p.owner; }},
    Column{"seq", "bigint", [](const Park& p) -> PgValue { return std::to_string(p.record->seq); }},
    Column{"xid", "xid8", [](const Park& p) -> PgValue { return std::to_string(p.record->xid); }},
    Column{"aggregate_type", "text", [](const Park& p) -> PgValue { return p.record->aggregate_type; }},
    Column{"aggregate_id", "text", [](const Park& p) -> PgValue { return p.record->aggregate_id; }},
    Column{"type", "text", [](const Park& p) -> PgValue { return p.record->type; }},
    Column{
        "body", "bytea",
        [](const Park& p) -> PgValue { return p.record->payload_null ? PgValue() : db::pg_bytea(p.record->payload); }},
    Column{"body_is_json", "bool", [](const Park& p) -> PgValue { return text_of(p.record->payload_json); }},
    Column{"headers", "text", [](const Park& p) -> PgValue { return p.record->headers; }},
    Column{"traceparent", "text", [](const Park& p) -> PgValue { return p.record->traceparent; }},
    Column{"aggregate_version", "bigint", [](const Park& p) { return number(p.record->aggregate_version); }},
    Column{"schema_version", "int", [](const Park& p) { return number(p.record->schema_version); }},
    Column{"created_at", "timestamptz", [](const Park& p) -> PgValue { return db::pg_time(p.record->created_at); }},
    Column{"not_before", "timestamptz",
           [](const Park& p) -> PgValue {
             return p.record->not_before ? PgValue(db::pg_time(*p.record->not_before)) : PgValue();
           }},
};

std::string column_list() {
  std::string list;
  for (const auto& column : kColumns) list += (list.empty() ? "" : ", ") + std::string(column.name);
  return list;
}

std::string array_parameters() {
  std::string list;
  for (std::size_t i = 0; i < kColumns.size(); ++i) {
    list += (i == 0 ? "$" : ", $") + std::to_string(i + 1) + "::" + kColumns.at(i).type + "[]";
  }
  return list;
}

constexpr const char* kBlocks = "(state = 'waiting' and not not_due or state = 'dead' and holds_key)";

}  // namespace

Result<void> insert_parked(db::PgConnection& connection, const PgNames& names, const std::vector<Park>& parks) {
  if (parks.empty()) return {};
  const auto columns = column_list();
  // `behind`: something earlier in the batch, or a row that is parked already, stands in the key's way. Such a row
  // waits for its turn only, unless it has failed itself.
  const auto sql =
      "with p as (select *, coalesce(bool_or(" + std::string(kBlocks) +
      ") over (partition by sink, key order by n rows between unbounded preceding and 1 preceding), false)"
      "   or exists (select from " +
      names.delivery + " d where d.sink = u.sink and d.key = u.key and " + sql_in_the_way("d") +
      ") as behind from unnest(" + array_parameters() + ") with ordinality as u (" + columns + ", n)) insert into " +
      names.delivery + " (lane, long_id, " + columns + ") select " + db::pg_lane("key", kLanes) +
      ", nullif(message_id, " + sql_short_id("message_id") + "), " + sql_short_id("message_id") +
      ", sink, key, state, attempts, charged, not_due, holds_key, case when state = 'waiting' and (not_due "
      "or not behind or attempts > 0 and next_attempt_at > now()) then next_attempt_at end, reason,"
      " last_error, owner, seq, xid, aggregate_type, aggregate_id, type, body, body_is_json, headers, traceparent,"
      " aggregate_version, schema_version, created_at, not_before from p order by n"
      " on conflict (message_id, sink) do nothing";
  PgValues values;
  for (const auto& column : kColumns) {
    std::vector<PgValue> cells;
    cells.reserve(parks.size());
    for (const auto& park : parks) cells.push_back(column.value(park));
    values.push_back(db::pg_array(cells));
  }
  auto inserted = connection.query(sql, values);
  if (!inserted) return inserted.failure();
  return {};
}

Result<void> update_parked(db::PgConnection& connection, const PgNames& names,
                           const std::vector<ParkedUpdate>& updates) {
  if (updates.empty()) return {};
  const auto sql =
      "update " + names.delivery +
      " d set state = u.state, changed_at = now(), not_due = false, holds_key = u.holds_key,"
      " attempts = case when u.state = 'done' then d.attempts else u.attempts end,"
      " charged = d.charged or u.attempts > d.attempts,"
      " parked_at = case when d.attempts = 0 and u.attempts > 0 then now() else d.parked_at end,"
      " next_attempt_at = case when u.state = 'waiting' then u.next_attempt_at end,"
      " reason = case when u.state = 'done' then d.reason else u.reason end,"
      " last_error = case when u.state = 'done' then d.last_error else u.last_error end,"
      " body = case when u.state = 'done' then null else d.body end"
      " from unnest($1::bigint[], $2::text[], $3::int[], $4::timestamptz[], $5::bool[], $6::text[], $7::text[],"
      " $8::int[]) as u (delivery_id, state, attempts, next_attempt_at, holds_key, reason, last_error, replays)"
      " where d.delivery_id = u.delivery_id and d.state = 'waiting' and d.replays = u.replays";
  std::vector<PgValue> rows, states, attempts, next, holds, reasons, errors, replays;
  for (const auto& update : updates) {
    using Kind = ParkedUpdate::Kind;
    rows.emplace_back(std::to_string(update.row));
    states.emplace_back(update.kind == Kind::done ? "done" : update.kind == Kind::dead ? "dead" : "waiting");
    attempts.emplace_back(std::to_string(update.attempts));
    next.emplace_back(db::pg_time(update.next_attempt));
    holds.push_back(text_of(update.kind == Kind::dead && update.holds_key));
    reasons.emplace_back(storable(update.reason));
    errors.emplace_back(storable(update.error));
    replays.emplace_back(std::to_string(update.replays));
  }
  auto updated =
      connection.query(sql, {db::pg_array(rows), db::pg_array(states), db::pg_array(attempts), db::pg_array(next),
                             db::pg_array(holds), db::pg_array(reasons), db::pg_array(errors), db::pg_array(replays)});
  if (!updated) return updated.failure();
  return {};
}

Result<void> promote_heads(db::PgConnection& connection, const PgNames& names, const SettleBatch& batch) {
  std::vector<std::string> sinks, keys;
  for (const auto& park : batch.parks) {
    sinks.push_back(park.sink);
    keys.push_back(park.record->key);
  }
  if (!batch.updates.empty()) {
    std::vector<std::int64_t> ids;
    for (const auto& update : batch.updates) ids.push_back(update.row);
    auto rows =
        connection.query("select distinct sink, key from " + names.delivery + " where delivery_id = any($1::bigint[])",
                         {sql_array(ids)});
    if (!rows) return rows.failure();
    for (int i = 0; i < rows->size(); ++i) {
      sinks.push_back(rows->text(i, 0));
      keys.push_back(rows->text(i, 1));
    }
  }
  return promote_heads(connection, names, sinks, keys);
}

Result<void> promote_heads(db::PgConnection& connection, const PgNames& names, const std::vector<std::string>& sinks,
                           const std::vector<std::string>& keys) {
  if (sinks.empty()) return {};
  auto promoted = connection.query(
      "update " + names.delivery +
          " t set next_attempt_at = now() from (select distinct sink, key from unnest($1::text[], $2::text[])"
          " as u (sink, key)) k cross join lateral (select d.delivery_id, d.state, d.next_attempt_at from " +
          names.delivery + " d where d.sink = k.sink and d.key = k.key and " + sql_in_the_way("d") +
          " order by d.ord limit 1) h"
          " where t.delivery_id = h.delivery_id and h.state = 'waiting' and h.next_attempt_at is null",
      {sql_array(sinks), sql_array(keys)});
  if (!promoted) return promoted.failure();
  return {};
}

std::string parked_columns() {
  return "d.delivery_id, d.attempts, d.replays, d.seq, d.xid, coalesce(d.long_id, d.message_id), d.aggregate_type, "
         "d.aggregate_id, d.type,"
         " d.key, encode(d.body, 'hex'), d.body_is_json, d.headers, d.traceparent, d.aggregate_version,"
         " d.schema_version, " +
         sql_micros("d.created_at") + ", d.not_before is null, " + sql_micros("d.not_before");
}

Parked parked_from(const db::PgRows& rows, int row) {
  auto record = std::make_shared<Record>();
  record->seq = rows.integer(row, 3);
  record->xid = static_cast<std::uint64_t>(rows.integer(row, 4));
  record->id = rows.text(row, 5);
  record->aggregate_type = rows.text(row, 6);
  record->aggregate_id = rows.text(row, 7);
  record->type = rows.text(row, 8);
  record->key = rows.text(row, 9);
  record->payload_null = rows.null(row, 10);
  record->payload = db::pg_from_hex(rows.bytes(row, 10));
  record->payload_json = rows.flag(row, 11);
  record->headers = rows.text(row, 12);
  record->traceparent = rows.text(row, 13);
  if (!rows.null(row, 14)) record->aggregate_version = rows.integer(row, 14);
  if (!rows.null(row, 15)) record->schema_version = static_cast<std::int32_t>(rows.integer(row, 15));
  record->created_at = pg_micros(rows, row, 16);
  if (!rows.flag(row, 17)) record->not_before = pg_micros(rows, row, 18);
  return {rows.integer(row, 0), std::move(record), static_cast<int>(rows.integer(row, 1)),
          static_cast<int>(rows.integer(row, 2))};
}

}  // namespace outbox
