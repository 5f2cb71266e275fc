// A dump carries the xid column along as data, while the new cluster's ids begin anew: the old ids are "in the future",
// or worse, are given out again and mean somebody else. So every row gets an id that means here what it meant there:
// settled rows one that every snapshot sees (3), the others the id of this transaction, in one window, by seq.
#include "store/postgres/sink_start.h"
#include "store/postgres/take_over.h"

namespace outbox {

namespace {

constexpr std::chrono::hours kWholeTable{24};

// The lowest seq that is not settled, less one, per position; never above the greatest seq that was settled, because
// rows written since the restore carry ids that the old snapshots know nothing of.
std::string settled_below_sql(const PgSession& session) {
  const auto xid = "o." + session.column("xid");
  const auto seq = "o." + session.column("seq");
  return "select p.sink, p.lane, least(p.high, coalesce((select min(" + seq + ") - 1 from " + session.names().outbox +
         " o where not " + sql_passed(xid, seq, "p") + "), p.high)) as below from " + session.names().position +
         " p where p.s1 is not null";
}

// The snapshot that sees what $1 sees, and transaction $2 besides.
constexpr const char* kWithThis =
    "(select coalesce(min(x), $2::bigint + 1) || ':' || $2::bigint + 1 || ':' || coalesce(string_agg(x::text, ',' order"
    " by x), '') from (select x::text::bigint as x from pg_snapshot_xip($1::pg_snapshot) x union all select x from"
    " generate_series(pg_snapshot_xmax($1::pg_snapshot)::text::bigint, $2::bigint - 1) x) u)::pg_snapshot";

}  // namespace

Result<void> rebase_on_this_cluster(db::PgConnection& connection, const PgSession& session) {
  const auto& names = session.names();
  const auto xid = session.column("xid");
  const auto seq = session.column("seq");
  connection.set_answer_timeout(kWholeTable);
  // Before this transaction has an id of its own, so that the snapshot does not see it.
  auto before = connection.run("select pg_current_snapshot()::text");
  if (!before) return before.failure();
  auto below = connection.run("select coalesce(min(below), 0) from (" + settled_below_sql(session) + ") b");
  if (!below) return below.failure();
  auto own = connection.run("select pg_current_xact_id()");
  if (!own) return own.failure();
  const auto snapshot = before->text(0, 0), floor = below->text(0, 0), transaction = own->text(0, 0);

  // Positions first: they are judged by the ids that the rows still have.
  const std::vector<std::pair<std::string, db::PgValues>> steps{
      {"update " + names.position + " t set s1 = $1::pg_snapshot, s2 = case when b.below > $3::bigint then " +
           std::string(kWithThis) + " end, last = b.below, ahead = '{}', ahead_xid = '{}' from (" +
           settled_below_sql(session) + ") b where t.sink = b.sink and t.lane = b.lane",
       {snapshot, transaction, floor}},
      {"update " + names.outbox + " set " + xid + " = case when " + seq + " > $2::bigint then $1::xid8 else '3' end",
       {transaction, floor}},
      {"update " + names.delivery + " set xid = case when seq > $2::bigint then $1::xid8 else '3' end",
       {transaction, floor}},
      {"delete from " + names.clock, {}},
      {"delete from " + names.meta + " where name = 'pruned_xid'", {}},
      {sql_forget_starts(session), {}},
      {"insert into " + names.meta +
           " (name, value) select 'system_identifier', system_identifier::text from"
           " pg_control_system() on conflict (name) do update set value = excluded.value",
       {}},
  };
  for (const auto& [sql, values] : steps) {
    if (auto done = connection.query(sql, values); !done) return done.failure();
  }
  return {};
}

Result<void> restamp_future_rows(db::PgConnection& connection, const PgSession& session) {
  connection.set_answer_timeout(kWholeTable);
  const auto xid = session.column("xid");
  // Any row that is visible here and was written here has an id below the snapshot's end.
  auto done = connection.run("update " + session.names().outbox + " set " + xid + " = pg_current_xact_id() where " +
                             xid + " >= pg_snapshot_xmax(pg_current_snapshot())");
  if (!done) return done.failure();
  return {};
}

}  // namespace outbox
