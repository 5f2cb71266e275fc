#include "source/poll/record_columns.h"

#include "db/pg_lane.h"
#include "model/lanes.h"

namespace outbox {

namespace {

// The column cast to `type`, or `otherwise` where the table has none.
std::string cast(const TableShape& shape, const std::string& ours, const std::string& type,
                 const std::string& otherwise) {
  const auto column = column_of(shape, ours);
  return column.empty() ? otherwise : column + "::" + type;
}

std::string constant(const TableShape& shape, const std::string& ours, const std::string& otherwise) {
  const auto found = shape.table.constants.find(ours);
  return found == shape.table.constants.end() ? otherwise : db::pg_literal(found->second);
}

std::string text_or_constant(const TableShape& shape, const std::string& ours) {
  return cast(shape, ours, "text", constant(shape, ours, "''") + "::text");
}

// Of rows that are marked or deleted, the version: only the one that was read is (the store's settle).
std::string transaction(const TableShape& shape) {
  const auto xid = column_of(shape, "xid");
  if (shape.table.sent != SentMode::keep) return shape.has_versions ? "t.xmin::text::xid8" : "'0'::xid8";
  return xid.empty() ? "'0'::xid8" : xid;
}

std::string time(const TableShape& shape, const std::string& ours, const std::string& otherwise) {
  const auto column = column_of(shape, ours);
  if (column.empty()) return otherwise;
  const bool zoned = shape.types.at(ours) == "timestamp with time zone";
  return zoned ? column : column + " at time zone 'UTC'";
}

}  // namespace

std::string column_of(const TableShape& shape, const std::string& ours) {
  const auto found = shape.table.columns.find(ours);
  return found == shape.table.columns.end() || found->second.empty() ? "" : "t." + db::pg_identifier(found->second);
}

std::string lane_expression(const TableShape& shape) {
  auto column = column_of(shape, "lane");
  if (!column.empty()) return column;
  return db::pg_lane(
      text_or_constant(shape, "aggregate_type") + " || ':' || " + text_or_constant(shape, "aggregate_id"), kLanes);
}

std::string record_columns(const TableShape& shape) {
  // jsonb has a binary form of its own; everything else arrives as it is stored.
  const bool binary = shape.types.at("payload") == "bytea";
  const auto seq = column_of(shape, "seq");
  return (seq.empty() ? "0::bigint" : seq) + " as m_seq, " + transaction(shape) + " as m_xid, " +
         cast(shape, "id", "text", "") + " as m_id, " + text_or_constant(shape, "aggregate_type") +
         " as m_aggregate_type, " + text_or_constant(shape, "aggregate_id") + " as m_aggregate_id, " +
         text_or_constant(shape, "type") + " as m_type, " + column_of(shape, "payload") + (binary ? "" : "::text") +
         " as m_payload, " + cast(shape, "headers", "text", "''::text") + " as m_headers, " +
         cast(shape, "traceparent", "text", "''::text") + " as m_traceparent, " + time(shape, "created_at", "now()") +
         " as m_created_at, " + time(shape, "not_before", "null::timestamptz") + " as m_not_before, " +
         cast(shape, "aggregate_version", "bigint", "null::bigint") + " as m_aggregate_version, " +
         cast(shape, "schema_version", "int", constant(shape, "schema_version", "null") + "::int") +
         " as m_schema_version";
}

std::shared_ptr<Record> read_record(const db::PgRows& row, int first, bool payload_is_json) {
  const auto text = [&](int column) { return row.text(0, first + column); };
  auto record = std::make_shared<Record>();
  record->seq = db::pg_int64(row.bytes(0, first));
  record->xid = static_cast<std::uint64_t>(db::pg_int64(row.bytes(0, first + 1)));
  record->id = text(2);
  record->aggregate_type = text(3);
  record->aggregate_id = text(4);
  record->type = text(5);
  record->key = make_key(record->aggregate_type, record->aggregate_id);
  record->payload_null = row.null(0, first + 6);
  record->payload = text(6);
  record->payload_json = payload_is_json;
  record->headers = text(7);
  record->traceparent = text(8);
  if (!row.null(0, first + 9)) record->created_at = db::pg_timestamp(row.bytes(0, first + 9));
  if (!row.null(0, first + 10)) record->not_before = db::pg_timestamp(row.bytes(0, first + 10));
  if (!row.null(0, first + 11)) record->aggregate_version = db::pg_int64(row.bytes(0, first + 11));
  if (!row.null(0, first + 12)) record->schema_version = db::pg_int32(row.bytes(0, first + 12));
  return record;
}

}  // namespace outbox
