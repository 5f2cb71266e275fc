#include "store/postgres/parked.h"

#include <algorithm>
#include <map>

#include "store/postgres/park_rows.h"

namespace outbox {

namespace {

// Of the rows `d`, those of a share.
std::string within(const Lanes& lanes) {
  if (lanes.all()) return {};
  return " and d.lane between " + std::to_string(lanes.first) + " and " + std::to_string(lanes.last);
}

// What stands first in the way of key `k`, as columns of `h`.
std::string head_sql(const PgNames& names, const std::string& sink) {
  return "(select d.ord, d.state, d.next_attempt_at from " + names.delivery + " d where d.sink = " + sink +
         " and d.key = k.key and " + sql_in_the_way("d") + " order by d.ord limit 1) h";
}

struct DueKeys {
  std::vector<std::string> ready;  // the first one may be tried
  std::vector<std::string> lined;  // something is due, but another one stands before it
};

Result<DueKeys> due_keys(db::PgConnection& connection, const PgNames& names, const std::string& sink,
                         const Lanes& lanes, std::size_t max_keys, const std::vector<std::string>& except) {
  auto rows = connection.query(
      "with k as (select key, min(next_attempt_at) as at from (select d.key, d.next_attempt_at from " + names.delivery +
          " d where d.sink = $1 and d.state = 'waiting' and d.next_attempt_at <= now() and d.key <> all($3::text[])" +
          within(lanes) +
          " order by d.next_attempt_at limit 2 * $2::bigint) w group by key)"
          " select k.key, h.state = 'waiting' and h.next_attempt_at <= now() from k cross join lateral " +
          head_sql(names, "$1") + " order by k.at",
      {sink, std::to_string(max_keys), sql_array(except)});
  if (!rows) return rows.failure();
  DueKeys keys;
  for (int i = 0; i < rows->size(); ++i) {
    const bool ready = rows->flag(i, 1);
    if (ready && keys.ready.size() == max_keys) continue;
    (ready ? keys.ready : keys.lined).push_back(rows->text(i, 0));
  }
  return keys;
}

// Rows that became due behind another one of their key (a not_before that has passed) join the line.
Result<void> line_up(db::PgConnection& connection, const PgNames& names, const std::string& sink,
                     const std::vector<std::string>& keys) {
  auto lined = connection.query(
      "update " + names.delivery + " t set next_attempt_at = null, not_due = false from (select k.key, h.ord from" +
          " unnest($2::text[]) as k (key) cross join lateral " + head_sql(names, "$1") +
          ") h where t.sink = $1 and t.key = h.key and t.state = 'waiting' and t.next_attempt_at <= now()"
          " and t.ord > h.ord",
      {sink, sql_array(keys)});
  if (!lined) return lined.failure();
  return {};
}

// Appends a row to the runs: it is tried now if all before it are, and nothing of its own holds it.
void add_row(std::vector<ParkedRun>& runs, const db::PgRows& rows, int row, std::size_t run_max) {
  auto delivery = parked_from(rows, row);
  delivery.failing_since = pg_micros(rows, row, kParkedColumns + 1);
  if (runs.empty() || runs.back().key != delivery.record->key) runs.push_back({delivery.record->key, {}, false});
  auto& run = runs.back();
  const bool may_be_tried = rows.flag(row, kParkedColumns);
  if (run.more || !may_be_tried || run.deliveries.size() == run_max) {
    run.more = true;
  } else {
    run.deliveries.push_back(std::move(delivery));
  }
}

}  // namespace

Result<std::vector<ParkedRun>> parked_due(PgSession& session, const std::string& sink, const Lanes& lanes,
                                          std::size_t max_keys, std::size_t run_max,
                                          const std::vector<std::string>& except) {
  auto opened = session.connection();
  if (!opened) return opened.failure();
  auto& connection = **opened;
  auto keys = due_keys(connection, session.names(), sink, lanes, max_keys, except);
  if (!keys) return keys.failure();
  if (!keys->lined.empty()) {
    if (auto lined = line_up(connection, session.names(), sink, keys->lined); !lined) return lined.failure();
  }
  std::vector<ParkedRun> runs;
  if (keys->ready.empty()) return runs;
  auto rows =
      connection.query("select d.* from unnest($2::text[]) with ordinality as k (key, n) cross join lateral (select " +
                           parked_columns() + ", d.state = 'waiting' and coalesce(d.next_attempt_at <= now(), true), " +
                           sql_micros("d.parked_at") + " from " + session.names().delivery +
                           " d where d.sink = $1 and d.key = k.key and " + sql_in_the_way("d") +
                           " order by d.ord limit $3::bigint + 1) d order by k.n",
                       {sink, sql_array(keys->ready), std::to_string(run_max)});
  if (!rows) return rows.failure();
  for (int i = 0; i < rows->size(); ++i) add_row(runs, *rows, i, run_max);
  // Another call may have changed a key between the two questions.
  std::erase_if(runs, [](const ParkedRun& run) { return run.deliveries.empty(); });
  return runs;
}

Result<Store::Parking> parked_summary(PgSession& session, const std::string& sink, const Lanes& lanes) {
  auto opened = session.connection();
  if (!opened) return opened.failure();
  const auto& delivery = session.names().delivery;
  auto rows = (*opened)->query(
      "select count(*), count(*) filter (where not charged and not not_due),"
      " count(*) filter (where not_due and next_attempt_at > now()), " +
          sql_micros("min(next_attempt_at)") + ", (select count(*) from " + delivery +
          " d where d.sink = $1 and d.state = 'dead'" + within(lanes) +
          ")"
          ", exists (select from " +
          delivery + " d where d.sink = $1 and " + sql_in_the_way("d") + within(lanes) + ") or exists (select from " +
          delivery + " d join " + session.names().position +
          " p on p.sink = d.sink and p.s1 is not null and d.lane between p.lane and p.lane_to where d.sink = $1"
          " and not " +
          sql_passed("d.xid", "d.seq", "p") + within(lanes) + ") from " + delivery +
          " d where d.sink = $1 and d.state = 'waiting'" + within(lanes),
      {sink});
  if (!rows) return rows.failure();
  Store::Parking parking;
  parking.counts.waiting = rows->integer(0, 0);
  parking.counts.uncharged = rows->integer(0, 1);
  parking.counts.not_due = rows->integer(0, 2);
  parking.next_due = pg_micros(*rows, 0, 3);
  parking.counts.dead = rows->integer(0, 4);
  parking.counts.concerns_stream = rows->flag(0, 5);
  return parking;
}

Result<PageFacts> parked_facts(PgSession& session, const std::string& sink, const std::vector<std::string>& keys,
                               const std::vector<std::string>& message_ids) {
  auto opened = session.connection();
  if (!opened) return opened.failure();
  const auto& delivery = session.names().delivery;
  auto rows = (*opened)->query("select true, k.key from unnest($2::text[]) as k (key) where exists (select from " +
                                   delivery + " d where d.sink = $1 and d.key = k.key and " + sql_in_the_way("d") +
                                   ") union all select false, coalesce(d.long_id, d.message_id) from " + delivery +
                                   " d where d.sink = $1 and d.message_id = any(" + sql_short_ids("$3::text[]") + ")",
                               {sink, sql_array(keys), sql_array(message_ids)});
  if (!rows) return rows.failure();
  PageFacts facts;
  for (int i = 0; i < rows->size(); ++i) {
    (rows->flag(i, 0) ? facts.waiting_keys : facts.known_messages).push_back(rows->text(i, 1));
  }
  return facts;
}

}  // namespace outbox
