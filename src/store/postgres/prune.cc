// Retention. Rows of the outbox table go in chunks, by ranges of transaction ids below every position, from a lower
// mark that moves along: a range below it is empty, so no chunk walks over what the last ones left behind.
#include <map>

#include "base/log.h"
#include "store/audit_trail.h"
#include "store/postgres/dead_letters.h"
#include "store/postgres/operations.h"
#include "store/postgres/park_rows.h"

namespace outbox {

namespace {

constexpr const char* kFloor = "pruned_xid";

std::string seconds(Duration duration) {
  return std::to_string(std::chrono::duration_cast<std::chrono::seconds>(duration).count());
}

// Ids below this are settled by every sink that ever had a position, and old enough. NULL: none is.
Result<db::PgValue> ceiling(db::PgConnection& connection, const PgSession& session, const std::vector<Feed>& feeds,
                            Duration retain) {
  const auto& names = session.names();
  std::vector<std::string> sinks;
  sinks.reserve(feeds.size());
  for (const auto& feed : feeds) sinks.push_back(feed.name);
  const std::string old_enough = retain <= Duration(0)
                                     ? "pg_snapshot_xmax(pg_current_snapshot())"
                                     : "(select next_xid from " + names.clock + " where at <= now() - " +
                                           seconds(retain) + " * interval '1 second' order by at desc limit 1)";
  auto rows = connection.query(
      "select case when not exists (select from unnest($1::text[]) f (sink) where not exists (select from " +
          names.position + " p where p.sink = f.sink and p.s1 is not null)) and " + old_enough +
          " is not null then least((select pg_snapshot_xmin(s1) from " + names.position +
          " where s1 is not null order by 1 limit 1), " + old_enough + ") end",
      {sql_array(sinks)});
  if (!rows) return rows.failure();
  return rows->null(0, 0) ? db::PgValue() : db::PgValue(rows->text(0, 0));
}

Result<std::int64_t> prune_behind_positions(db::PgConnection& connection, const PgSession& session,
                                            const std::vector<Feed>& feeds, Duration retain, std::int64_t max_rows,
                                            bool dry_run) {
  auto below = ceiling(connection, session, feeds, retain);
  if (!below) return below.failure();
  if (!*below) return 0;
  const auto& names = session.names();
  const auto xid = session.column("xid");
  const auto floor = "coalesce((select value from " + names.meta + " where name = '" + kFloor + "'), '0')::xid8";
  const auto range = " from " + names.outbox + " where " + xid + " >= " + floor + " and " + xid + " < $1::xid8";
  if (dry_run) {
    auto rows = connection.query("select count(*)" + range, {*below});
    if (!rows) return rows.failure();
    return rows->integer(0, 0);
  }
  auto rows = connection.query(
      "with gone as (delete from " + names.outbox + " where ctid = any(array(select ctid" + range + " order by " + xid +
          ", " + session.column("seq") + " limit $2::bigint)) returning " + xid +
          " as xid), n as (select count(*) as n, max(xid::text::numeric) as top from gone), mark as (insert into " +
          names.meta + " (name, value) select '" + kFloor +
          "', case when n < $2::bigint then $1::xid8::text else top::text end from n"
          " on conflict (name) do update set value = excluded.value) select n from n",
      {*below, std::to_string(max_rows)});
  if (!rows) return rows.failure();
  return rows->integer(0, 0);
}

Result<std::int64_t> prune_marked(db::PgConnection& connection, const PgSession& session, Duration retain,
                                  std::int64_t max_rows, bool dry_run) {
  const auto& table = session.names().outbox;
  const auto old = " from " + table + " where " + session.column("published_at") + " < now() - " + seconds(retain) +
                   " * interval '1 second'";
  auto rows = dry_run ? connection.run("select count(*)" + old)
                      : connection.run("delete from " + table + " where ctid = any(array(select ctid" + old +
                                       " limit " + std::to_string(max_rows) + "))");
  if (!rows) return rows.failure();
  return dry_run ? rows->integer(0, 0) : rows->affected();
}

// Of dead letters that went, by sink.
using Gone = std::map<std::string, std::int64_t>;

Result<void> write_audit(db::PgConnection& connection, const PgNames& names, const Gone& gone, Duration retain,
                         const std::string& actor) {
  for (const auto& [sink, count] : gone) {
    auto written = connection.query(
        "insert into " + names.audit + " (actor, action, sink, reason, detail) values ($1, 'discarded', $2, $3, $4)",
        {storable(actor), sink, kRetained, retained_detail(count, retain)});
    if (!written) return written.failure();
  }
  return {};
}

// " from … where …": the rows `d` in such a state, once a re-read can no longer meet their message. Where rows are
// marked that is so at once, but for a page that was read just before.
std::string passed_in_state(const PgNames& names, const std::string& state) {
  return " from " + names.delivery + " d left join " + names.position +
         " p on p.sink = d.sink and p.s1 is not null and d.lane between p.lane and p.lane_to where " + state +
         " and case when p.sink is null then d.changed_at < now() - interval '5 minutes' else " +
         sql_passed("d.xid", "d.seq", "p") + " end";
}

std::string delete_sql(const PgNames& names, const std::string& from, std::int64_t max_rows) {
  return "delete from " + names.delivery + " where delivery_id = any(array(select d.delivery_id" + from + " limit " +
         std::to_string(max_rows) + "))";
}

Result<std::int64_t> prune_finished(db::PgConnection& connection, const PgNames& names, std::int64_t max_rows,
                                    bool dry_run) {
  const auto from = passed_in_state(names, "d.state in ('done', 'discarded')");
  auto rows = connection.run(dry_run ? "select count(*)" + from : delete_sql(names, from, max_rows));
  if (!rows) return rows.failure();
  return dry_run ? rows->integer(0, 0) : rows->affected();
}

// What held its key lets it go on: relays that line something up behind it are held meanwhile.
Result<std::int64_t> prune_dead(db::PgConnection& connection, const PgNames& names, Duration retain,
                                const std::string& actor, std::int64_t max_rows, bool dry_run) {
  const auto from = passed_in_state(
      names, "d.state = 'dead' and d.changed_at < now() - " + seconds(retain) + " * interval '1 second'");
  auto there = connection.run(dry_run ? "select count(*)" + from : "select 1" + from + " limit 1");
  if (!there) return there.failure();
  if (dry_run) return there->integer(0, 0);
  if (there->empty()) return 0;
  auto transaction = db::PgTransaction::begin(connection);
  if (!transaction) return transaction.failure();
  if (auto held = hold_relays(connection, names); !held) return held.failure();
  auto rows = connection.run(delete_sql(names, from, max_rows) + " returning sink, key, holds_key");
  if (!rows) return rows.failure();
  std::vector<std::string> sinks, keys;
  Gone gone;
  for (int i = 0; i < rows->size(); ++i) {
    ++gone[rows->text(i, 0)];
    if (!rows->flag(i, 2)) continue;
    sinks.push_back(rows->text(i, 0));
    keys.push_back(rows->text(i, 1));
  }
  if (auto promoted = promote_heads(connection, names, sinks, keys); !promoted) return promoted.failure();
  if (auto written = write_audit(connection, names, gone, retain, actor); !written) return written.failure();
  if (auto done = transaction->commit(); !done) return done.failure();
  for (const auto& [sink, count] : gone) {
    log::warn("dead letters deleted", {{"sink", sink}, {"what", retained_detail(count, retain)}, {"why", kRetained}});
  }
  return rows->size();
}

}  // namespace

Result<std::int64_t> prune_rows(PgSession& session, const std::vector<Feed>& feeds, const Store::Retention& retention,
                                std::int64_t max_rows, bool dry_run) {
  auto opened = session.connection();
  if (!opened) return opened.failure();
  auto& connection = **opened;
  std::int64_t gone = 0;
  const auto room = [&] { return max_rows - (dry_run ? 0 : gone); };
  if (retention.sent) {
    const auto mode = session.table().sent;
    Result<std::int64_t> rows = std::int64_t{0};
    if (mode == SentMode::keep) {
      rows = prune_behind_positions(connection, session, feeds, *retention.sent, max_rows, dry_run);
    } else if (mode == SentMode::mark) {
      rows = prune_marked(connection, session, *retention.sent, max_rows, dry_run);
    }
    if (!rows) return rows;
    gone = *rows;
  }
  if (room() > 0) {
    auto rows = prune_finished(connection, session.names(), room(), dry_run);
    if (!rows) return rows;
    gone += *rows;
  }
  if (retention.dead && room() > 0) {
    auto rows = prune_dead(connection, session.names(), *retention.dead, retention.actor, room(), dry_run);
    if (!rows) return rows;
    gone += *rows;
  }
  return gone;
}

}  // namespace outbox
