#include <algorithm>
#include <set>

#include "store/postgres/operations.h"
#include "store/postgres/parked.h"
#include "store/postgres/sink_control.h"

namespace outbox {

namespace {

constexpr std::int64_t kCountMax = 10'000;

std::string capped_count(const std::string& created, const std::string& from_where) {
  return "select count(*), " + sql_micros("min(created)") + " from (select " + created + " as created " + from_where +
         " limit " + std::to_string(kCountMax + 1) + ") w";
}

// Rows that at least one sink's position has not passed. A sink that has no position yet, but starts at the beginning,
// has passed none.
std::string behind_positions_sql(const PgSession& session, const std::string& created) {
  const auto xid = "o." + session.column("xid");
  const auto seq = "o." + session.column("seq");
  return "with p as (select coalesce(p.s1, '3:3:') as s1, p.s2, coalesce(p.last, 0) as last, coalesce(p.ahead, '{}')"
         " as ahead, coalesce(p.lane, 0) as lane, coalesce(p.lane_to, " +
         std::to_string(kLanes - 1) +
         ") as lane_to from unnest($1::text[], $2::bool[]) as f (sink, beginning) left join " +
         session.names().position +
         " p on p.sink = f.sink and p.s1 is not null where p.sink is not null or f.beginning) " +
         capped_count(created, "from " + session.names().outbox + " o where " + xid +
                                   " >= (select pg_snapshot_xmin(s1) from p order by 1 limit 1)"
                                   " and exists (select from p where " +
                                   session.lane_expression("o") + " between p.lane and p.lane_to and not " +
                                   sql_passed(xid, seq, "p") + ") order by " + xid);
}

Result<void> count_unsent(db::PgConnection& connection, const PgSession& session, const std::vector<Feed>& feeds,
                          StoreStatus& status) {
  const auto created_column = session.column("created_at");
  const auto created = created_column.empty() ? std::string("null::timestamptz") : created_column;
  std::vector<std::string> names, beginnings;
  for (const auto& feed : feeds) {
    if (!feed.positions) continue;
    names.push_back(feed.name);
    beginnings.push_back(feed.from_beginning ? "t" : "f");
  }
  std::string sql;
  db::PgValues values;
  if (!names.empty()) {
    sql = behind_positions_sql(session, created);
    values = {sql_array(names), sql_array(beginnings)};
  } else {
    const auto published = session.column("published_at");
    const bool marked = session.table().sent == SentMode::mark;
    sql = capped_count(created, "from " + session.names().outbox + (marked ? " where " + published + " is null" : ""));
  }
  auto rows = connection.query(sql, values);
  if (!rows) return rows.failure();
  status.unsent = std::min(rows->integer(0, 0), kCountMax);
  status.unsent_is_capped = rows->integer(0, 0) > kCountMax;
  if (!rows->null(0, 1)) status.oldest_unsent = pg_micros(*rows, 0, 1);
  return {};
}

// Those of the feeds, and those that have parked deliveries without being in any feed.
Result<std::set<std::string>> sink_names(db::PgConnection& connection, const PgSession& session,
                                         const std::vector<Feed>& feeds) {
  std::set<std::string> sinks;
  for (const auto& feed : feeds) sinks.insert(feed.sinks.begin(), feed.sinks.end());
  const auto& delivery = session.names().delivery;
  // One probe of the index per sink, however many rows there are.
  for (const std::string state : {"state = 'waiting'", "state <> 'waiting'"}) {
    auto rows = connection.run("with recursive s as ((select sink from " + delivery + " where " + state +
                               " order by sink limit 1) union all select (select d.sink from " + delivery +
                               " d where d.sink > s.sink and " + state +
                               " order by d.sink limit 1) from s where s.sink is not null)"
                               " select sink from s where sink is not null");
    if (!rows) return rows.failure();
    for (int i = 0; i < rows->size(); ++i) sinks.insert(rows->text(i, 0));
  }
  return sinks;
}

Result<SinkStatus> sink_status(db::PgConnection& connection, PgSession& session, const std::string& sink) {
  auto parking = parked_summary(session, sink, {});
  if (!parking) return parking.failure();
  SinkStatus status;
  status.parked = parking->counts;
  const auto& delivery = session.names().delivery;
  auto oldest = connection.query("select " + sql_micros("min(created_at)") + " from (select created_at from " +
                                     delivery + " where sink = $1 and state = 'waiting' limit 10000) w",
                                 {sink});
  if (!oldest) return oldest.failure();
  if (!oldest->null(0, 0)) status.oldest_waiting = pg_micros(*oldest, 0, 0);
  auto error = connection.query(
      "select last_error, " + sql_micros("changed_at") + " from ((select last_error, changed_at from " + delivery +
          " where sink = $1 and state = 'dead' order by changed_at desc limit 1)"
          " union all (select last_error, changed_at from (select last_error, changed_at from " +
          delivery +
          " where sink = $1 and state = 'waiting' and attempts > 0 limit 10000) w order by changed_at desc limit 1)) e"
          " where last_error <> '' order by changed_at desc limit 1",
      {sink});
  if (!error) return error.failure();
  if (!error->empty()) {
    status.last_error = error->text(0, 0);
    status.last_error_at = pg_micros(*error, 0, 1);
  }
  auto owners = connection.query(
      "select owner, count(*) from " + delivery + " where sink = $1 and state = 'dead' group by owner", {sink});
  if (!owners) return owners.failure();
  for (int i = 0; i < owners->size(); ++i) status.dead_by_owner[owners->text(i, 0)] = owners->integer(i, 1);
  return status;
}

Result<void> read_relays(db::PgConnection& connection, const PgSession& session, StoreStatus& status) {
  auto rows = connection.run("select name, " + sql_micros("started_at") + ", " + sql_micros("seen_at") +
                             ", stopped, sinks from " + session.names().relay + " order by name");
  if (!rows) return rows.failure();
  for (int i = 0; i < rows->size(); ++i) {
    status.relays.push_back(
        {rows->text(i, 0), pg_micros(*rows, i, 1), pg_micros(*rows, i, 2), rows->flag(i, 3), rows->text(i, 4)});
  }
  return {};
}

}  // namespace

Result<StoreStatus> read_status(PgSession& session, const std::vector<Feed>& feeds) {
  auto opened = session.connection();
  if (!opened) return opened.failure();
  auto& connection = **opened;
  StoreStatus status;
  auto clock = connection.run("select " + sql_micros("clock_timestamp()"));
  if (!clock) return clock.failure();
  status.database_now = pg_micros(*clock, 0, 0);
  if (auto counted = count_unsent(connection, session, feeds, status); !counted) return counted.failure();
  auto sinks = sink_names(connection, session, feeds);
  if (!sinks) return sinks.failure();
  for (const auto& sink : *sinks) {
    auto one = sink_status(connection, session, sink);
    if (!one) return one.failure();
    status.sinks[sink] = std::move(*one);
  }
  auto pauses = read_pauses(session);
  if (!pauses) return pauses.failure();
  for (SinkPause& pause : *pauses) {
    const auto found = status.sinks.find(pause.sink);
    if (found != status.sinks.end()) found->second.pause = std::move(pause);
  }
  if (auto read = read_relays(connection, session, status); !read) return read.failure();
  return status;
}

}  // namespace outbox
