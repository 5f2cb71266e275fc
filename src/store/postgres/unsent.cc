#include "store/postgres/unsent.h"

#include <algorithm>

#include "model/lanes.h"

namespace outbox {

namespace {

constexpr std::int64_t kCountMax = 10'000;
constexpr std::int64_t kOldestOf = 100;

// The rows of a feed, each with `column` as "created": at most `limit` of each kind. Each kind is a range of an index;
// one range for all would read, each time, what the position has passed in a large window.
std::string behind_position(const PgSession& session, const std::string& column, std::int64_t limit) {
  const auto xid = "o." + session.column("xid");
  const auto seq = "o." + session.column("seq");
  const auto of_feed = " and " + session.lane_expression("o") + " between p.lane and p.lane_to";
  const auto not_ahead = "not " + sql_ahead(xid, seq, "p") + of_feed;
  const auto behind_last = seq + " > p.last and " + not_ahead;
  const auto kind = [&](const std::string& from, const std::string& where, const std::string& order) {
    return "(select " + column + " as created from " + from + " where " + where +
           (order.empty() ? "" : " order by " + order) + " limit " + std::to_string(limit) + ")";
  };
  const auto& outbox = session.names().outbox;
  const auto in_progress = [&](const std::string& snapshot) {
    return "pg_snapshot_xip(" + snapshot + ") as x join " + outbox + " o on " + xid + " = x";
  };
  // In this window: of transactions that S1 saw in progress, and of later ones.
  return "select created from p cross join lateral (" +
         kind(in_progress("p.s1"), "p.in_window and pg_visible_in_snapshot(x, p.upto) and " + behind_last, "") +
         " union all " +
         kind(outbox + " o",
              "p.in_window and " + xid + " >= pg_snapshot_xmax(p.s1) and pg_visible_in_snapshot(" + xid +
                  ", p.upto) and " + behind_last,
              seq) +
         // Behind it: of transactions that were in progress when it was cut, and of later ones.
         " union all " + kind(in_progress("p.upto"), not_ahead, "") + " union all " +
         kind(outbox + " o", xid + " >= pg_snapshot_xmax(p.upto) and " + not_ahead, xid) + ") r";
}

std::string positions_sql(const PgSession& session) {
  return "with p as materialized (select coalesce(p.s1, '3:3:') as s1, coalesce(p.s2, p.s1, '3:3:') as upto,"
         " p.s2 is not null as in_window, coalesce(p.last, 0) as last, coalesce(p.ahead, '{}') as ahead,"
         " coalesce(p.ahead_xid, '{}') as ahead_xid,"
         " coalesce(p.lane, 0) as lane, coalesce(p.lane_to, " +
         std::to_string(kLanes - 1) +
         ") as lane_to from (select $1::text as sink, $2::bool as from_beginning) f left join " +
         session.names().position +
         " p on p.sink = f.sink and p.s1 is not null where p.sink is not null or f.from_beginning) ";
}

// Rows without the mark, or all that are left where what was sent is deleted.
std::string unmarked(const PgSession& session, const std::string& column, std::int64_t limit) {
  const bool marked = session.table().sent == SentMode::mark;
  return "select " + column + " as created from " + session.names().outbox + " o" +
         (marked ? " where o." + session.column("published_at") + " is null" : "") + " limit " + std::to_string(limit);
}

}  // namespace

Result<Unsent> count_unsent(PgSession& session, const Feed& feed) {
  auto opened = session.connection();
  if (!opened) return opened.failure();
  auto& connection = **opened;
  const auto created_column = session.column("created_at");
  const auto created = created_column.empty() ? std::string("null::timestamptz") : "o." + created_column;
  const auto rows_of = feed.positions ? behind_position : unmarked;
  // The count is asked without the moment, so that an index can answer it.
  const auto sql =
      (feed.positions ? positions_sql(session) : std::string()) + "select (select count(*) from (select from (" +
      rows_of(session, "null::timestamptz", kCountMax + 1) + ") r limit " + std::to_string(kCountMax + 1) +
      ") w), (select " + sql_micros("min(created)") + " from (" + rows_of(session, created, kOldestOf) + ") w)";
  // Without statistics of a bound that is known only while it runs, the planner would read and sort the whole table.
  auto transaction = db::PgTransaction::begin(connection);
  if (!transaction) return transaction.failure();
  auto set = connection.run(
      "set local enable_seqscan = off; set local enable_bitmapscan = off; set local enable_hashjoin = off;"
      " set local enable_mergejoin = off");
  if (!set) return set.failure();
  auto rows =
      connection.query(sql, feed.positions ? db::PgValues{feed.name, feed.from_beginning ? "t" : "f"} : db::PgValues{});
  if (!rows) return rows.failure();
  if (auto done = transaction->commit(); !done) return done.failure();
  Unsent unsent{std::min(rows->integer(0, 0), kCountMax), rows->integer(0, 0) > kCountMax, {}};
  if (!rows->null(0, 1)) unsent.oldest = pg_micros(*rows, 0, 1);
  return unsent;
}

}  // namespace outbox
