#include "store/postgres/take_over.h"

#include <algorithm>

#include "base/log.h"
#include "store/postgres/readiness.h"
#include "store/postgres/sink_start.h"

namespace outbox {

namespace {

constexpr const char* kLock = "select pg_advisory_xact_lock(7310869743457329017)";
constexpr const char* kSeesNothing = "3:3:";  // no transaction has an id below 3

// Transaction ids mean something in the cluster only that gave them out.
Result<void> check_cluster(db::PgConnection& connection, const PgSession& session) {
  const auto xid = session.column("xid");
  auto rows = connection.run("select coalesce((select value from " + session.names().meta +
                             " where name = 'system_identifier') <> system_identifier::text, true), exists (select"
                             " from " +
                             session.names().outbox + " where " + xid +
                             " >= pg_snapshot_xmax(pg_current_snapshot())) from pg_control_system()");
  if (!rows) return rows.failure();
  if (rows->flag(0, 0)) {
    log::warn("the database was restored into another cluster: positions are moved, some messages may come twice",
              {{"table", session.table().table}});
    return rebase_on_this_cluster(connection, session);
  }
  if (rows->flag(0, 1)) {
    log::warn("rows carry transaction ids of another cluster: they are given new ones",
              {{"table", session.table().table}});
    return restamp_future_rows(connection, session);
  }
  return {};
}

// What a relay of before migration 0006 wrote says only the seq of what is ahead. The rows say the rest; where one is
// gone, or two have that number, it is let go, and the message comes once more at worst.
Result<void> complete_ahead(db::PgConnection& connection, const PgSession& session) {
  const auto xid = "o." + session.column("xid");
  const auto seq = "o." + session.column("seq");
  auto completed = connection.run("update " + session.names().position +
                                  " p set (ahead, ahead_xid) = (select coalesce(array_agg(r.seq order by r.seq), '{}'),"
                                  " coalesce(array_agg(r.xids[1] order by r.seq), '{}') from"
                                  " (select " +
                                  seq + "::bigint as seq, array_agg(" + xid + ") as xids from " +
                                  session.names().outbox + " o where " + seq +
                                  " = any(p.ahead) group by 1) r where cardinality(r.xids) = 1)"
                                  " where cardinality(p.ahead) <> cardinality(p.ahead_xid)");
  if (!completed) return completed.failure();
  return {};
}

// The relay `owner` has a valid lease on the feed; both are SQL expressions.
std::string holds_lease(const PgSession& session, const std::string& owner, const std::string& feed) {
  return "exists (select from " + session.names().lease + " l where l.relay = " + owner + " and l.feed = " + feed +
         " and l.until > clock_timestamp())";
}

// Why it was not taken over.
Failure not_to_be_had(db::PgConnection& connection, const PgSession& session, const Feed& feed,
                      const std::string& relay) {
  auto rows = connection.query("select p.owner, p.lane_to, " + holds_lease(session, "$3", "$1") +
                                   " from (select) one left join " + session.names().position +
                                   " p on p.sink = $1 and p.lane = $2::int",
                               {feed.name, std::to_string(feed.lanes.first), relay});
  if (!rows) return rows.failure();
  const auto share = feed.name + ", lanes " + to_string(feed.lanes);
  if (!rows->flag(0, 2)) {
    return {FailureKind::fenced, share + ": the lease of the relay " + relay + " itself has run out"};
  }
  if (rows->null(0, 1) || rows->integer(0, 1) != feed.lanes.last) {
    return {FailureKind::fenced, share + ": the lanes were divided otherwise meanwhile"};
  }
  return {FailureKind::fenced, share + ": the relay " + rows->text(0, 0) + " owns them"};
}

// A settle of the owner may hold the row for any time: the leases are judged after that, by a statement that sees what
// was renewed meanwhile.
Result<void> await_settles(db::PgConnection& connection, const PgSession& session, const Feed& feed) {
  auto held =
      connection.query("select from " + session.names().position + " where sink = $1 and lane = $2::int for update",
                       {feed.name, std::to_string(feed.lanes.first)});
  if (!held) return held.failure();
  return {};
}

Result<FeedState> raise_epoch(db::PgConnection& connection, const PgSession& session, const Feed& feed,
                              const std::string& relay) {
  const auto& position = session.names().position;
  db::PgValue start;
  if (feed.positions) {
    start = kSeesNothing;
    if (!feed.from_beginning) {
      auto snapshot = connection.run("select pg_current_snapshot()::text");
      if (!snapshot) return snapshot.failure();
      start = snapshot->text(0, 0);
    }
  }
  auto rows = connection.query(
      "insert into " + position +
          " as p (sink, lane, lane_to, epoch, owner, s1) select $1, $4::int, $5::int, 1, $2, $3::pg_snapshot where " +
          holds_lease(session, "$2", "$1") +
          " on conflict (sink, lane) do update set"
          " epoch = p.epoch + 1, owner = excluded.owner, updated_at = now(), s1 = coalesce(p.s1, excluded.s1)"
          " where p.lane_to = excluded.lane_to and (p.owner = excluded.owner or not " +
          holds_lease(session, "p.owner", "p.sink") +
          ") returning coalesce(s1::text, ''), coalesce(s2::text, ''), last, array_to_string(ahead, ' '), "
          "array_to_string(ahead_xid, ' '), epoch, " +
          sql_micros("clock_timestamp()"),
      {feed.name, relay, start, std::to_string(feed.lanes.first), std::to_string(feed.lanes.last)});
  if (!rows) return rows.failure();
  if (rows->empty()) return not_to_be_had(connection, session, feed, relay);
  FeedState state;
  state.start.from = rows->text(0, 0);
  state.start.to = rows->text(0, 1);
  state.start.seq = rows->integer(0, 2);
  const auto seqs = db::pg_integers(rows->bytes(0, 3)), xids = db::pg_integers(rows->bytes(0, 4));
  for (std::size_t i = 0; i < std::min(seqs.size(), xids.size()); ++i) {
    state.start.ahead.push_back({seqs[i], static_cast<std::uint64_t>(xids[i])});
  }
  state.epoch = static_cast<std::uint64_t>(rows->integer(0, 5));
  state.database_now = pg_micros(*rows, 0, 6);
  return state;
}

}  // namespace

Result<FeedState> take_feed_over(PgSession& session, const Feed& feed, const std::string& relay) {
  auto opened = session.connection();
  if (!opened) return opened.failure();
  auto& connection = **opened;
  if (auto usable = check_usable(connection, session); !usable) return usable.failure();
  auto transaction = db::PgTransaction::begin(connection);
  if (!transaction) return transaction.failure();
  if (auto locked = connection.run(kLock); !locked) return locked.failure();
  if (feed.positions) {
    if (auto completed = complete_ahead(connection, session); !completed) return completed.failure();
    auto checked = check_cluster(connection, session);
    connection.set_answer_timeout(db::PgConnectOptions().answer_timeout);
    if (!checked) return checked.failure();
  }
  const auto is_new = begins_now(connection, session, feed);
  if (!is_new) return is_new.failure();
  if (auto free = await_settles(connection, session, feed); !free) return free.failure();
  auto state = raise_epoch(connection, session, feed, relay);
  if (!state) return state;
  if (*is_new) {
    if (auto noted = note_start(connection, session, feed, state->start.from); !noted) return noted.failure();
  }
  if (auto done = transaction->commit(); !done) return done.failure();
  return state;
}

}  // namespace outbox
