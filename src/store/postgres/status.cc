#include <algorithm>
#include <set>

#include "store/postgres/operations.h"
#include "store/postgres/parked.h"
#include "store/postgres/readiness.h"
#include "store/postgres/sink_control.h"
#include "store/postgres/unsent.h"

namespace outbox {

namespace {

// Of the feed that is furthest behind: positions are passed in the same order by all.
Result<void> add_unsent(PgSession& session, const std::vector<Feed>& feeds, StoreStatus& status) {
  for (const auto& feed : feeds) {
    auto unsent = count_unsent(session, feed);
    if (!unsent) return unsent.failure();
    if (unsent->rows > status.unsent) status.unsent = unsent->rows;
    status.unsent_is_capped |= unsent->capped;
    if (unsent->oldest) status.oldest_unsent = std::min(status.oldest_unsent.value_or(kNever), *unsent->oldest);
  }
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
  if (auto made = check_made(connection, session); !made) return made.failure();
  StoreStatus status;
  auto clock = connection.run("select " + sql_micros("clock_timestamp()"));
  if (!clock) return clock.failure();
  status.database_now = pg_micros(*clock, 0, 0);
  if (auto added = add_unsent(session, feeds, status); !added) return added.failure();
  auto sinks = sink_names(connection, session, feeds);
  if (!sinks) return sinks.failure();
  for (const auto& sink : *sinks) {
    auto one = sink_status(connection, session, sink);
    if (!one) return one.failure();
    status.sinks[sink] = std::move(*one);
  }
  auto pauses = read_pauses(session);
  if (!pauses) return pauses.failure();
  for (SinkPause& pause : *pauses) status.sinks[pause.sink].pause = pause;
  if (auto read = read_shares(connection, session, status); !read) return read.failure();
  if (auto read = read_relays(connection, session, status); !read) return read.failure();
  return status;
}

}  // namespace outbox
