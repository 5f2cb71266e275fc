#include "store/sqlite/stream_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>

#include "db/sqlite_time.h"
#include "store/sqlite/places.h"

namespace outbox {
namespace {

// A sink's position, and where it began (Places::start_of).
struct Stand {
  Position position;
  std::int64_t start = 0;
};
using Stands = std::map<std::string, Stand>;

Result<Stands> stands_of(const SqliteFiles& files, const std::string& only, const std::vector<RouteFilter>& routes) {
  Stands stands;
  Places places(files.state, files.prefix);
  for (const RouteFilter& route : routes) {
    if ((!only.empty() && route.sink != only) || stands.contains(route.sink)) continue;
    auto place = places.find(route.sink);
    if (!place) return place.failure();
    if (!*place) continue;
    auto start = places.start_of(route.sink);
    if (!start) return start.failure();
    stands.emplace(route.sink, Stand{(*place)->position, *start});
  }
  return stands;
}

bool goes_to(const std::string& sink, const DeliveryInfo& message, const std::vector<RouteFilter>& routes) {
  return std::any_of(routes.begin(), routes.end(), [&](const RouteFilter& route) {
    return route.sink == sink && route.aggregate_type.value_or(message.aggregate_type) == message.aggregate_type &&
           route.type.value_or(message.type) == message.type;
  });
}

bool has_passed(const Position& position, std::int64_t seq) {
  return seq <= position.seq ||
         std::find(position.ahead.begin(), position.ahead.end(), RowRef{seq, 0}) != position.ahead.end();
}

// Parked: what the side table says counts. What is done there was sent.
Result<bool> is_parked(const SqliteFiles& files, const DeliveryInfo& message, const std::string& sink, bool passed) {
  auto found = files.state.text(
      db::with_prefix("SELECT CASE WHEN state = 'done' AND discarded = 0 THEN 'sent' ELSE 'parked' END FROM "
                      "outbox_delivery WHERE message_id = ? AND sink = ?",
                      files.prefix),
      {message.message_id, sink});
  if (!found) return found.failure();
  return *found && !(passed && **found == "sent");
}

Result<bool> was_closed_by_people(const SqliteFiles& files, const DeliveryInfo& message, const std::string& sink) {
  auto found = files.state.integer(
      db::with_prefix("SELECT 1 FROM outbox_audit WHERE message_id = ? AND message_id <> '' AND sink = ? AND action IN "
                      "('discarded', 'replaced') LIMIT 1",
                      files.prefix),
      {message.message_id, sink});
  if (!found) return found.failure();
  return found->has_value();
}

bool fits(const DeliveryInfo& message, const DeliveryFilter& filter) {
  return (filter.type.empty() || message.type == filter.type) &&
         (filter.key.empty() || make_key(message.aggregate_type, message.aggregate_id) == filter.key) &&
         (!filter.since || message.created_at >= *filter.since);
}

}  // namespace

Result<std::vector<DeliveryInfo>> stream_deliveries(const SqliteFiles& files, bool passed, const DeliveryFilter& filter,
                                                    const std::string& message_id,
                                                    const std::vector<RouteFilter>& routes, std::size_t limit) {
  std::vector<DeliveryInfo> found;
  auto stands = stands_of(files, filter.sink, routes);
  if (!stands) return stands.failure();
  std::int64_t after = passed ? 0 : std::numeric_limits<std::int64_t>::max();
  if (!passed) {
    for (const auto& [sink, stand] : *stands) after = std::min(after, stand.position.seq);
  }
  const auto& table = files.table;
  auto rows = files.application.query(
      fmt::format("SELECT {0}, CAST({1} AS TEXT), {2}, {3}, {4}, {5} FROM {6} WHERE {0} > ?1 AND {7} ORDER BY {0} {8}",
                  table.seq, table.column("id"), table.column("aggregate_type"), table.column("aggregate_id"),
                  table.column("type"), table.column("created_at"), table.name,
                  message_id.empty() ? "?2 = ''" : table.column("id") + " = ?2", passed ? "DESC" : "ASC"),
      {after, message_id});
  if (!rows) return rows.failure();
  while (found.size() < limit) {
    auto row = rows->next();
    if (!row) return row.failure();
    if (!*row) break;
    DeliveryInfo info;
    info.state = "pending";
    info.message_id = rows->text(1);
    info.aggregate_type = rows->text(2);
    info.aggregate_id = rows->text(3);
    info.type = rows->text(4);
    info.created_at = db::read_sqlite_time(*rows, 5).value_or(Time{});
    if (!fits(info, filter)) continue;
    for (const auto& [sink, stand] : *stands) {
      const auto seq = rows->integer(0);
      if (has_passed(stand.position, seq) != passed || !goes_to(sink, info, routes)) continue;
      const bool skipped = passed && seq <= stand.start;
      if (skipped && message_id.empty()) continue;
      auto elsewhere = is_parked(files, info, sink, passed);
      if (elsewhere && !*elsewhere && passed) elsewhere = was_closed_by_people(files, info, sink);
      if (!elsewhere) return elsewhere.failure();
      if (*elsewhere || found.size() == limit) continue;
      info.sink = sink;
      if (passed) info.state = skipped ? "skipped" : "sent";
      found.push_back(info);
    }
  }
  return found;
}

Result<RecordPtr> application_record(const SqliteFiles& files, const std::string& message_id) {
  const auto& table = files.table;
  auto rows = files.application.query(
      fmt::format("SELECT {}, {}, {}, {}, {}, {}, {}, {} FROM {} WHERE {} = ?", table.column("aggregate_type"),
                  table.column("aggregate_id"), table.column("type"), table.column("payload"), table.column("headers"),
                  table.column("traceparent"), table.column("created_at"), table.column("not_before"), table.name,
                  table.column("id")),
      {message_id});
  if (!rows) return rows.failure();
  auto row = rows->next();
  if (!row) return row.failure();
  if (!*row) return RecordPtr();
  auto record = std::make_shared<Record>();
  record->id = message_id;
  record->aggregate_type = rows->text(0);
  record->aggregate_id = rows->text(1);
  record->type = rows->text(2);
  record->key = make_key(record->aggregate_type, record->aggregate_id);
  record->payload_null = rows->null(3);
  record->payload_json = rows->type(3) != db::SqliteRows::Type::blob;
  record->payload = rows->text(3);
  record->headers = rows->text(4);
  record->traceparent = rows->text(5);
  record->created_at = db::read_sqlite_time(*rows, 6).value_or(Time{});
  record->not_before = db::read_sqlite_time(*rows, 7);
  return RecordPtr(std::move(record));
}

}  // namespace outbox
