#include "store/postgres/operator_rows.h"

#include "store/postgres/readiness.h"

namespace outbox {

std::string PgConditions::parameter(db::PgValue value) {
  values_.push_back(std::move(value));
  return "$" + std::to_string(values_.size());
}

void PgConditions::add(const std::string& condition) { sql_ += (sql_.empty() ? "" : " and ") + condition; }

void add_filter(PgConditions& conditions, const DeliveryFilter& filter) {
  const auto equal = [&](const char* column, const std::string& value) {
    if (!value.empty()) conditions.add(std::string("d.") + column + " = " + conditions.parameter(value));
  };
  if (!filter.message_ids.empty()) {
    conditions.add("d.message_id = any(" +
                   sql_short_ids(conditions.parameter(sql_array(filter.message_ids)) + "::text[]") + ")");
  }
  equal("sink", filter.sink);
  equal("key", filter.key);
  equal("type", filter.type);
  equal("owner", filter.owner);
  equal("reason", filter.reason);
  if (filter.since) {
    conditions.add("d.changed_at >= " + conditions.parameter(db::pg_time(*filter.since)) + "::timestamptz");
  }
}

std::string delivery_columns() {
  return "d.state, d.message_id, d.sink, d.aggregate_type, d.aggregate_id, d.type, " + sql_micros("d.created_at") +
         ", d.delivery_id, d.attempts, d.replays, d.holds_key, " + sql_micros("d.next_attempt_at") +
         ", d.reason, d.last_error, d.owner, " + sql_micros("d.parked_at") + ", " + sql_micros("d.changed_at");
}

DeliveryInfo delivery_from(const db::PgRows& rows, int row) {
  DeliveryInfo info;
  info.state = rows.text(row, 0);
  info.message_id = rows.text(row, 1);
  info.sink = rows.text(row, 2);
  info.aggregate_type = rows.text(row, 3);
  info.aggregate_id = rows.text(row, 4);
  info.type = rows.text(row, 5);
  info.created_at = pg_micros(rows, row, 6);
  info.row = rows.integer(row, 7);
  info.attempts = static_cast<int>(rows.integer(row, 8));
  info.replays = static_cast<int>(rows.integer(row, 9));
  info.holds_key = rows.flag(row, 10);
  if (!rows.null(row, 11)) info.next_attempt = pg_micros(rows, row, 11);
  info.reason = rows.text(row, 12);
  info.error = rows.text(row, 13);
  info.owner = rows.text(row, 14);
  info.parked_at = pg_micros(rows, row, 15);
  info.changed_at = pg_micros(rows, row, 16);
  return info;
}

Result<db::PgConnection*> operator_connection(PgSession& session) {
  auto opened = session.connection();
  if (!opened) return opened.failure();
  if (auto made = check_made(**opened, session); !made) return made.failure();
  return *opened;
}

}  // namespace outbox
