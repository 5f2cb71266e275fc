#include "store/postgres/operations.h"

namespace outbox {

namespace {

// Remembers how far transaction ids had come by now, for retention. One a minute is kept for a day, then one an hour.
Result<void> sample_clock(db::PgConnection& connection, const std::string& clock) {
  auto sampled = connection.run("insert into " + clock +
                                " (at, next_xid) select now(), pg_snapshot_xmax(pg_current_snapshot()) where not exists"
                                " (select from " +
                                clock +
                                " where at > now() - interval '1 minute')"
                                " on conflict (at) do nothing");
  if (!sampled) return sampled.failure();
  if (sampled->affected() == 0) return {};
  auto thinned = connection.run("delete from " + clock + " c using " + clock +
                                " earlier where c.at < now() - interval '1 day' and earlier.at < c.at"
                                " and date_trunc('hour', earlier.at) = date_trunc('hour', c.at)");
  if (!thinned) return thinned.failure();
  return {};
}

}  // namespace

Result<void> write_heartbeat(PgSession& session, const Heartbeat& beat) {
  auto opened = session.connection();
  if (!opened) return opened.failure();
  const auto& relay = session.names().relay;
  auto written = (*opened)->query(
      "insert into " + relay +
          " as r (name, started_at, seen_at, stopped, sinks) values ($1, now(), now(), $3::bool, $2)"
          " on conflict (name) do update set seen_at = now(), stopped = excluded.stopped, sinks = excluded.sinks,"
          " started_at = case when r.stopped then now() else r.started_at end",
      {beat.relay, beat.sinks_json, beat.stopping ? "t" : "f"});
  if (!written) return written.failure();
  auto forgotten = (*opened)->run("delete from " + relay + " where seen_at < now() - interval '1 day'");
  if (!forgotten) return forgotten.failure();
  return sample_clock(**opened, session.names().clock);
}

}  // namespace outbox
