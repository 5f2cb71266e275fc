#include <algorithm>
#include <functional>
#include <set>

#include "store/postgres/operations.h"
#include "store/postgres/parked.h"
#include "store/postgres/sink_control.h"

namespace outbox {

namespace {

constexpr std::int64_t kCountMax = 10'000;
constexpr int kOldestOf = 100;  // rows in the order of their transactions, among which the oldest is looked for

// `rows(column)`: a subquery of the rows as a column named "created". The count is asked without the moment, so that an
// index can answer it.
std::string capped_count(const std::function<std::string(const std::string&)>& rows, const std::string& created) {
  const auto limited = [&](const std::string& column, std::int64_t limit) {
    return "(" + rows(column) + " limit " + std::to_string(limit) + ") w";
  };
  return "select (select count(*) from " + limited("null::timestamptz", kCountMax + 1) + "), (select " +
         sql_micros("min(created)") + " from " + limited(created, kOldestOf) + ")";
}

// Rows that at least one sink's position has not passed: those from where the hindmost position's S1 ends on, and those
// of the transactions that an S1 saw in progress. One lower bound for both would read, each time, all that was written
// since an old transaction began. A sink that has no position yet, but starts at the beginning, has passed none.
std::string behind_positions_sql(const PgSession& session, const std::string& created) {
  const auto& outbox = session.names().outbox;
  const auto xid = "o." + session.column("xid");
  const auto seq = "o." + session.column("seq");
  const auto lane = session.lane_expression("o");
  const auto rows = [&](const std::string& column) {
    const auto columns =
        "select " + xid + " as xid, " + seq + " as seq, " + lane + " as lane, " + column + " as created from ";
    return "select created from ((" + columns +
           "(select distinct x from p cross join pg_snapshot_xip(p.s1) as x, hindmost where x < hindmost.xmax) as late"
           " join " +
           outbox + " o on " + xid + " = late.x) union all (" + columns + outbox + " o where " + xid +
           " >= (select xmax from hindmost) order by " + xid +
           ")) r where exists (select from p where r.lane between p.lane and p.lane_to and not " +
           sql_passed("r.xid", "r.seq", "p") + ")";
  };
  return "with p as materialized (select coalesce(p.s1, '3:3:') as s1, p.s2, coalesce(p.last, 0) as last,"
         " coalesce(p.ahead, '{}') as ahead, coalesce(p.lane, 0) as lane, coalesce(p.lane_to, " +
         std::to_string(kLanes - 1) +
         ") as lane_to from unnest($1::text[], $2::bool[]) as f (sink, beginning) left join " +
         session.names().position +
         " p on p.sink = f.sink and p.s1 is not null where p.sink is not null or f.beginning),"
         " hindmost as materialized (select pg_snapshot_xmax(s1) as xmax from p order by 1 limit 1) " +
         capped_count(rows, created);
}

// Rows without the mark, or all that are left where what was sent is deleted.
std::string unmarked_sql(const PgSession& session, const std::string& created) {
  const bool marked = session.table().sent == SentMode::mark;
  const auto rows = [&](const std::string& column) {
    return "select " + column + " as created from " + session.names().outbox +
           (marked ? " where " + session.column("published_at") + " is null" : "");
  };
  return capped_count(rows, created);
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
    sql = unmarked_sql(session, created);
  }
  // Without statistics of a bound that is known only while it runs, the planner would read and sort the whole table.
  auto transaction = db::PgTransaction::begin(connection);
  if (!transaction) return transaction.failure();
  auto set = connection.run("set local enable_seqscan = off; set local enable_bitmapscan = off");
  if (!set) return set.failure();
  auto rows = connection.query(sql, values);
  if (!rows) return rows.failure();
  if (auto done = transaction->commit(); !done) return done.failure();
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

Result<void> read_shares(db::PgConnection& connection, const PgSession& session, StoreStatus& status) {
  auto rows = connection.run("select p.sink, p.lane, p.lane_to, p.owner, " + sql_micros("l.until") + " from " +
                             session.names().position + " p left join " + session.names().lease +
                             " l on l.relay = p.owner and l.feed = p.sink order by p.sink, p.lane");
  if (!rows) return rows.failure();
  for (int i = 0; i < rows->size(); ++i) {
    ShareStatus share;
    share.feed = rows->text(i, 0);
    share.lanes = {static_cast<int>(rows->integer(i, 1)), static_cast<int>(rows->integer(i, 2))};
    share.relay = rows->text(i, 3);
    if (!rows->null(i, 4)) share.until = pg_micros(*rows, i, 4);
    status.shares.push_back(std::move(share));
  }
  return {};
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
  if (auto read = read_shares(connection, session, status); !read) return read.failure();
  if (auto read = read_relays(connection, session, status); !read) return read.failure();
  return status;
}

}  // namespace outbox
