#include "store/postgres/sink_control.h"

#include "store/postgres/operator_rows.h"
#include "store/postgres/sink_start.h"
#include "store/postgres/unsent.h"

namespace outbox {

namespace {

Result<void> write_audit(db::PgConnection& connection, const PgNames& names, const std::string& action,
                         const std::string& sink, const Act& act, const std::string& detail = {}) {
  auto written = connection.query(
      "insert into " + names.audit + " (actor, action, sink, reason, detail) values ($1, $2, $3, $4, $5)",
      {storable(act.actor), action, sink, storable(act.reason), detail});
  if (!written) return written.failure();
  return {};
}

// None where rows are marked: no position says what the sink has passed.
Result<Unsent> unsent_of(PgSession& session, const std::string& sink) {
  if (session.table().sent != SentMode::keep) return Unsent{};
  return count_unsent(session, Feed{sink, {sink}, true, false, {}});
}

// One statement about the pause of the sink, and its audit row if it changed anything.
Result<bool> change_pause(PgSession& session, const std::string& sql, const db::PgValues& values,
                          const std::string& action, const Act& act) {
  auto opened = operator_connection(session);
  if (!opened) return opened.failure();
  auto transaction = db::PgTransaction::begin(**opened);
  if (!transaction) return transaction.failure();
  auto changed = (*opened)->query(sql, values);
  if (!changed) return changed.failure();
  if (changed->affected() == 0) return false;
  if (auto written = write_audit(**opened, session.names(), action, *values.front(), act); !written) {
    return written.failure();
  }
  if (auto committed = transaction->commit(); !committed) return committed.failure();
  return true;
}

}  // namespace

Result<bool> pause_sink(PgSession& session, const std::string& sink, const Act& act) {
  return change_pause(session,
                      "insert into " + session.names().pause +
                          " (sink, actor, reason) values ($1, $2, $3) on conflict (sink) do nothing",
                      {sink, storable(act.actor), storable(act.reason)}, "paused", act);
}

Result<bool> resume_sink(PgSession& session, const std::string& sink, const Act& act) {
  return change_pause(session, "delete from " + session.names().pause + " where sink = $1", {sink}, "resumed", act);
}

Result<SinkHoldings> sink_holdings(PgSession& session, const std::string& sink) {
  auto opened = operator_connection(session);
  if (!opened) return opened.failure();
  const auto& names = session.names();
  auto rows = (*opened)->query(
      "select exists (select from " + names.position + " where sink = $1), exists (select from " + names.pause +
          " where sink = $1), count(*) filter (where state = 'waiting'), count(*) filter (where state = 'dead'),"
          " count(*) filter (where state in ('done', 'discarded')) from " +
          names.delivery + " where sink = $1",
      {sink});
  if (!rows) return rows.failure();
  const auto unsent = unsent_of(session, sink);
  if (!unsent) return unsent.failure();
  return SinkHoldings{unsent->rows,        unsent->capped,      rows->flag(0, 0),   rows->flag(0, 1),
                      rows->integer(0, 2), rows->integer(0, 3), rows->integer(0, 4)};
}

Result<bool> forget_sink(PgSession& session, const std::string& sink, std::size_t max_rows, const Act& act) {
  const auto unsent = unsent_of(session, sink);
  if (!unsent) return unsent.failure();
  auto opened = operator_connection(session);
  if (!opened) return opened.failure();
  auto& connection = **opened;
  const auto& names = session.names();
  auto transaction = db::PgTransaction::begin(connection);
  if (!transaction) return transaction.failure();
  auto gone = connection.query("with gone as (delete from " + names.delivery +
                                   " where delivery_id = any(array(select delivery_id from " + names.delivery +
                                   " where sink = $1 limit $2::bigint)) returning state) select count(*) filter (where"
                                   " state = 'waiting'), count(*) filter (where state = 'dead'), count(*) from gone",
                               {sink, std::to_string(max_rows)});
  if (!gone) return gone.failure();
  const bool all = gone->integer(0, 2) < static_cast<std::int64_t>(max_rows);
  std::string detail = gone->text(0, 0) + " waiting, " + gone->text(0, 1) + " dead";
  if (all) {
    auto position = connection.query("delete from " + names.position + " where sink = $1", {sink});
    if (!position) return position.failure();
    if (position->affected() > 0) detail += ", and its position" + not_passed(unsent->rows, unsent->capped);
    if (auto row = forget_start(connection, session, sink); !row) return row.failure();
    for (const auto& rest : {names.pause + " where sink", names.lease + " where feed"}) {
      auto row = connection.query("delete from " + rest + " = $1", {sink});
      if (!row) return row.failure();
    }
  }
  if (auto written = write_audit(connection, names, "forgotten", sink, act, detail); !written) return written.failure();
  if (auto committed = transaction->commit(); !committed) return committed.failure();
  return all;
}

Result<std::vector<SinkPause>> read_pauses(PgSession& session) {
  auto opened = session.connection();
  if (!opened) return opened.failure();
  const auto& pause = session.names().pause;
  auto there = (*opened)->query("select to_regclass($1) is not null", {pause});
  if (!there) return there.failure();
  std::vector<SinkPause> pauses;
  if (!there->flag(0, 0)) return pauses;
  auto rows =
      (*opened)->run("select sink, actor, reason, " + sql_micros("since") + " from " + pause + " order by sink");
  if (!rows) return rows.failure();
  for (int i = 0; i < rows->size(); ++i) {
    pauses.push_back({rows->text(i, 0), rows->text(i, 1), rows->text(i, 2), pg_micros(*rows, i, 3)});
  }
  return pauses;
}

}  // namespace outbox
