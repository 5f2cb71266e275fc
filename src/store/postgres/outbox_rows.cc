#include "store/postgres/outbox_rows.h"

#include "db/pg_lane.h"
#include "model/lanes.h"
#include "store/postgres/operator_rows.h"
#include "store/postgres/sink_start.h"

namespace outbox {

namespace {

// What the outbox table `o` has of our columns, as text; constants come in as parameters.
class OutboxColumns {
 public:
  OutboxColumns(const PgSession& session, PgConditions& conditions) : session_(session), conditions_(conditions) {}

  std::string text(const std::string& ours) {
    const auto column = session_.column(ours);
    if (!column.empty()) return "o." + column + "::text";
    const auto& constants = session_.table().constants;
    const auto constant = constants.find(ours);
    return constant == constants.end() ? "''" : conditions_.parameter(constant->second) + "::text";
  }
  std::string own(const std::string& ours, const std::string& otherwise) const {
    const auto column = session_.column(ours);
    return column.empty() ? otherwise : "o." + column;
  }

 private:
  const PgSession& session_;
  PgConditions& conditions_;
};

bool by_position(const PgSession& session) { return session.table().sent == SentMode::keep; }

// A table `r` of the routes, and the condition that one of them takes the message to sink `p`.
struct Routed {
  std::string table;
  std::string condition;
};

Routed routed(PgConditions& conditions, const std::vector<RouteFilter>& routes, const std::string& aggregate_type,
              const std::string& type) {
  std::vector<std::string> sinks;
  std::vector<db::PgValue> aggregate_types, types;
  for (const RouteFilter& route : routes) {
    sinks.push_back(route.sink);
    aggregate_types.push_back(route.aggregate_type);
    types.push_back(route.type);
  }
  const auto table = "unnest(" + conditions.parameter(sql_array(sinks)) + "::text[], " +
                     conditions.parameter(db::pg_array(aggregate_types)) + "::text[], " +
                     conditions.parameter(db::pg_array(types)) + "::text[]) as r (sink, aggregate_type, type)";
  return {table, "exists (select from " + table + " where r.sink = p.sink and coalesce(r.aggregate_type = " +
                     aggregate_type + ", true) and coalesce(r.type = " + type + ", true))"};
}

void add_stream_filter(PgConditions& conditions, const DeliveryFilter& filter, const std::string& aggregate_type,
                       const std::string& aggregate_id, const std::string& type, const std::string& created) {
  if (!filter.sink.empty()) conditions.add("p.sink = " + conditions.parameter(filter.sink));
  if (!filter.type.empty()) conditions.add(type + " = " + conditions.parameter(filter.type));
  if (!filter.key.empty()) {
    conditions.add(aggregate_type + " || ':' || " + aggregate_id + " = " + conditions.parameter(filter.key));
  }
  if (filter.since) {
    conditions.add(created + " >= " + conditions.parameter(db::pg_time(*filter.since)) + "::timestamptz");
  }
}

// A column of type uuid takes no other text.
Result<bool> may_be_an_id(db::PgConnection& connection, const PgSession& session, const std::string& message_id) {
  const auto found = session.table().columns.find("id");
  auto rows = connection.query(
      "select format_type(atttypid, null) <> 'uuid' or $3 ~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' from"
      " pg_attribute where attrelid = $1::regclass and attname = $2",
      {session.names().outbox, found->second, message_id});
  if (!rows) return rows.failure();
  return !rows->empty() && rows->flag(0, 0);
}

DeliveryInfo stream_delivery(const db::PgRows& rows, int row, bool passed) {
  DeliveryInfo info;
  info.state = passed ? "sent" : "pending";
  if (rows.flag(row, 7)) info.state = "skipped";
  info.message_id = rows.text(row, 0);
  info.sink = rows.text(row, 1);
  info.aggregate_type = rows.text(row, 2);
  info.aggregate_id = rows.text(row, 3);
  info.type = rows.text(row, 4);
  info.created_at = pg_micros(rows, row, 5);
  if (!rows.null(row, 6)) info.passed_at = pg_micros(rows, row, 6);
  return info;
}

}  // namespace

Result<std::vector<DeliveryInfo>> stream_deliveries(PgSession& session, bool passed, const DeliveryFilter& filter,
                                                    const std::string& message_id,
                                                    const std::vector<RouteFilter>& routes, std::size_t limit) {
  auto opened = session.connection();
  if (!opened) return opened.failure();
  auto& connection = **opened;
  if (!message_id.empty()) {
    auto possible = may_be_an_id(connection, session, message_id);
    if (!possible) return possible.failure();
    if (!*possible) return std::vector<DeliveryInfo>{};
  }
  PgConditions conditions;
  OutboxColumns columns(session, conditions);
  const auto aggregate_type = columns.text("aggregate_type"), aggregate_id = columns.text("aggregate_id");
  const auto type = columns.text("type"), created = columns.own("created_at", "now()");
  const auto published = columns.own("published_at", "null::timestamptz");
  const auto id = "o." + session.column("id");
  const Routed of_routes = routed(conditions, routes, aggregate_type, type);
  conditions.add(of_routes.condition);
  add_stream_filter(conditions, filter, aggregate_type, aggregate_id, type, created);
  if (!message_id.empty()) conditions.add(id + " = " + conditions.parameter(message_id));
  const auto parked = "exists (select from " + session.names().delivery +
                      " d where d.sink = p.sink and d.message_id = " + sql_short_id(id + "::text") +
                      (passed ? " and d.state <> 'done')" : ")");
  conditions.add("not " + parked);
  if (passed) {
    conditions.add("not exists (select from " + session.names().audit +
                   " a where a.message_id = " + sql_short_id(id + "::text") +
                   " and a.message_id <> '' and a.sink = p.sink and a.action in ('discarded', 'replaced'))");
  }

  std::string sinks, order, skipped = "false";
  if (by_position(session)) {
    const auto xid = columns.own("xid", ""), seq = columns.own("seq", "");
    const auto lane = db::pg_lane(aggregate_type + " || ':' || " + aggregate_id, kLanes);
    const auto& position = session.names().position;
    sinks = position + " p on p.s1 is not null and " + lane + " between p.lane and p.lane_to";
    conditions.add((passed ? "" : "not ") + sql_passed(xid, seq, "p"));
    if (!passed) {
      conditions.add(xid + " >= (select min(pg_snapshot_xmin(s1)::text::numeric)::text::xid8 from " + position +
                     " where s1 is not null)");
    }
    if (passed) skipped = sql_skipped(session, xid, "p");
    if (passed && message_id.empty()) conditions.add("not " + skipped);
    order = passed ? xid + " desc, " + seq + " desc" : xid + ", " + seq;
  } else {
    sinks = "(select distinct r.sink from " + of_routes.table + ") p on true";
    if (session.table().sent == SentMode::mark) conditions.add(published + (passed ? " is not null" : " is null"));
    order = (passed ? published + " desc, " : created + ", ") + id;
  }
  const auto most = conditions.parameter(std::to_string(limit));
  auto rows = connection.query("select " + id + ", p.sink, " + aggregate_type + ", " + aggregate_id + ", " + type +
                                   ", " + sql_micros(created) + ", " + sql_micros(published) + ", " + skipped +
                                   " from " + session.names().outbox + " o join " + sinks + conditions.where() +
                                   " order by " + order + ", p.sink limit " + most + "::bigint",
                               conditions.values());
  if (!rows) return rows.failure();
  std::vector<DeliveryInfo> found;
  found.reserve(static_cast<std::size_t>(rows->size()));
  for (int i = 0; i < rows->size(); ++i) found.push_back(stream_delivery(*rows, i, passed));
  return found;
}

Result<RecordPtr> outbox_record(PgSession& session, const std::string& message_id) {
  auto opened = session.connection();
  if (!opened) return opened.failure();
  auto& connection = **opened;
  auto possible = may_be_an_id(connection, session, message_id);
  if (!possible) return possible.failure();
  if (!*possible) return RecordPtr();
  PgConditions conditions;
  OutboxColumns columns(session, conditions);
  const auto aggregate_type = columns.text("aggregate_type"), aggregate_id = columns.text("aggregate_id");
  const auto type = columns.text("type");
  const auto payload = "o." + session.column("payload");
  const auto id = "o." + session.column("id");
  conditions.add(id + " = " + conditions.parameter(message_id));
  auto rows =
      connection.query("select " + id + ", " + aggregate_type + ", " + aggregate_id + ", " + type + ", " + payload +
                           "::text, pg_typeof(" + payload + ") = 'bytea'::regtype, " + columns.text("headers") + ", " +
                           columns.text("traceparent") + ", " + sql_micros(columns.own("created_at", "now()")) + ", " +
                           sql_micros(columns.own("not_before", "null::timestamptz")) + " from " +
                           session.names().outbox + " o" + conditions.where(),
                       conditions.values());
  if (!rows) return rows.failure();
  if (rows->empty()) return RecordPtr();
  auto record = std::make_shared<Record>();
  record->id = rows->text(0, 0);
  record->aggregate_type = rows->text(0, 1);
  record->aggregate_id = rows->text(0, 2);
  record->type = rows->text(0, 3);
  record->key = make_key(record->aggregate_type, record->aggregate_id);
  record->payload_null = rows->null(0, 4);
  record->payload_json = !rows->flag(0, 5);
  const auto text = rows->bytes(0, 4);
  record->payload =
      record->payload_json ? std::string(text) : db::pg_from_hex(text.substr(std::min<std::size_t>(2, text.size())));
  record->headers = rows->text(0, 6);
  record->traceparent = rows->text(0, 7);
  record->created_at = pg_micros(*rows, 0, 8);
  if (!rows->null(0, 9)) record->not_before = pg_micros(*rows, 0, 9);
  return RecordPtr(std::move(record));
}

}  // namespace outbox
