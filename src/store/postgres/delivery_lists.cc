#include "store/postgres/delivery_lists.h"

#include <algorithm>

#include "store/message_life.h"
#include "store/postgres/operator_rows.h"
#include "store/postgres/outbox_rows.h"
#include "store/postgres/park_rows.h"

namespace outbox {

namespace {

constexpr std::size_t kSinksMax = 10'000;

Result<std::vector<DeliveryInfo>> parked_deliveries(PgSession& session, PgConditions& conditions, std::size_t limit) {
  auto opened = operator_connection(session);
  if (!opened) return opened.failure();
  const auto most = conditions.parameter(std::to_string(limit));
  auto rows =
      (*opened)->query("select " + delivery_columns() + " from " + session.names().delivery + " d" +
                           conditions.where() + " order by d.sink, d.ord, d.delivery_id limit " + most + "::bigint",
                       conditions.values());
  if (!rows) return rows.failure();
  std::vector<DeliveryInfo> found;
  found.reserve(static_cast<std::size_t>(rows->size()));
  for (int i = 0; i < rows->size(); ++i) found.push_back(delivery_from(*rows, i));
  return found;
}

Result<std::vector<AuditEntry>> audit_of(db::PgConnection& connection, const PgNames& names,
                                         const std::string& message_id) {
  auto rows = connection.query(
      "select " + sql_micros("at") + ", actor, action, sink, message_id, reason, detail from " + names.audit +
          " where message_id = " + sql_short_id("$1::text") + " and message_id <> '' order by audit_id",
      {message_id});
  if (!rows) return rows.failure();
  std::vector<AuditEntry> entries;
  entries.reserve(static_cast<std::size_t>(rows->size()));
  for (int i = 0; i < rows->size(); ++i) {
    entries.push_back({pg_micros(*rows, i, 0), rows->text(i, 1), rows->text(i, 2), rows->text(i, 3), rows->text(i, 4),
                       rows->text(i, 5), rows->text(i, 6)});
  }
  return entries;
}

}  // namespace

Result<std::vector<DeliveryInfo>> list_deliveries(PgSession& session, ListedState state, const DeliveryFilter& filter,
                                                  const std::vector<RouteFilter>& routes, std::size_t limit) {
  if (state == ListedState::sent && session.table().sent == SentMode::remove) {
    return Failure{FailureKind::invalid, "outbox.sent is delete: rows that were sent are gone, nothing lists them"};
  }
  if (state == ListedState::pending || state == ListedState::sent) {
    return stream_deliveries(session, state == ListedState::sent, filter, {}, routes, limit);
  }
  PgConditions conditions;
  conditions.add(state == ListedState::dead ? "d.state = 'dead'" : "d.state = 'waiting'");
  add_filter(conditions, filter);
  return parked_deliveries(session, conditions, limit);
}

Result<std::vector<DeliveryInfo>> find_parked(PgSession& session, const std::vector<std::string>& message_ids,
                                              const std::string& sink) {
  PgConditions conditions;
  DeliveryFilter filter;
  filter.message_ids = message_ids;
  filter.sink = sink;
  add_filter(conditions, filter);
  return parked_deliveries(session, conditions, kSinksMax * std::max<std::size_t>(1, message_ids.size()));
}

Result<RecordPtr> read_parked_record(PgSession& session, std::int64_t row) {
  auto opened = session.connection();
  if (!opened) return opened.failure();
  auto rows = (*opened)->query("select " + parked_columns() + " from " + session.names().delivery +
                                   " d where d.delivery_id = $1::bigint and d.state in ('waiting', 'dead')",
                               {std::to_string(row)});
  if (!rows) return rows.failure();
  if (rows->empty()) return RecordPtr();
  return parked_from(*rows, 0).record;
}

Result<MessageLife> read_life(PgSession& session, const std::string& message_id,
                              const std::vector<RouteFilter>& routes) {
  auto opened = operator_connection(session);
  if (!opened) return opened.failure();
  return put_together(
      message_id,
      {.audit = [&] { return audit_of(**opened, session.names(), message_id); },
       .record = [&] { return outbox_record(session, message_id); },
       .parked = [&] { return find_parked(session, {message_id}, {}); },
       .streamed = [&](bool passed) { return stream_deliveries(session, passed, {}, message_id, routes, kSinksMax); },
       .parked_record = [&](std::int64_t row) { return read_parked_record(session, row); }});
}

}  // namespace outbox
