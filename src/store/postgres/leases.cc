#include "store/postgres/leases.h"

#include <algorithm>

#include "store/postgres/session.h"

namespace outbox {

namespace {

class PostgresLeases : public Leases {
 public:
  PostgresLeases(const std::string& url, const TableMapping& table) : session_(url, table) {}

  Result<Roster> renew(const std::string& relay, const std::string& process, const std::vector<std::string>& feeds,
                       Duration lease) override;
  Result<void> give(const std::string& relay, const Share& share, int from) override;
  Result<void> end(const std::string& relay) override;

 private:
  Result<Roster> roster(db::PgConnection& connection);
  Result<void> add_shares(db::PgConnection& connection, const std::vector<std::string>& feeds);

  PgSession session_;
};

Result<Roster> PostgresLeases::renew(const std::string& relay, const std::string& process,
                                     const std::vector<std::string>& feeds, Duration lease) {
  auto opened = session_.connection();
  if (!opened) return opened.failure();
  auto& connection = **opened;
  auto renewed = connection.query(
      "insert into " + session_.names().lease +
          " as l (relay, feed, process, until) select $1, f.feed, $2, clock_timestamp() + $4::bigint * interval '1 us'"
          " from unnest($3::text[]) as f (feed) order by f.feed"
          " on conflict (relay, feed) do update set until = excluded.until, process = excluded.process",
      {relay, process, sql_array(feeds), std::to_string(lease.count())});
  if (!renewed) return renewed.failure();
  auto now = roster(connection);
  if (!now) return now;
  std::vector<std::string> without;
  for (const auto& feed : feeds) {
    const bool has =
        std::any_of(now->shares.begin(), now->shares.end(), [&](const Share& s) { return s.feed == feed; });
    if (!has) without.push_back(feed);
  }
  if (without.empty()) return now;
  if (auto added = add_shares(connection, without); !added) return added.failure();
  return roster(connection);
}

Result<Roster> PostgresLeases::roster(db::PgConnection& connection) {
  const auto& names = session_.names();
  auto rows = connection.run(
      "select true, feed, relay, process, 0, 0 from " + names.lease +
      " where until > clock_timestamp() union all select false, p.sink, coalesce(l.relay, ''), '', p.lane, p.lane_to"
      " from " +
      names.position + " p left join " + names.lease +
      " l on l.relay = p.owner and l.feed = p.sink and l.until > clock_timestamp() order by 1, 2, 5, 3");
  if (!rows) return rows.failure();
  Roster roster;
  for (int i = 0; i < rows->size(); ++i) {
    if (rows->flag(i, 0)) {
      roster.holders.push_back({rows->text(i, 1), rows->text(i, 2), rows->text(i, 3)});
    } else {
      const Lanes lanes{static_cast<int>(rows->integer(i, 4)), static_cast<int>(rows->integer(i, 5))};
      roster.shares.push_back({rows->text(i, 1), lanes, rows->text(i, 2)});
    }
  }
  return roster;
}

// Without snapshots: the first take-over says where the feed starts.
Result<void> PostgresLeases::add_shares(db::PgConnection& connection, const std::vector<std::string>& feeds) {
  auto added = connection.query("insert into " + session_.names().position +
                                    " (sink, lane, lane_to, epoch, owner) select f.feed, 0, $2::int, 0, '' from"
                                    " unnest($1::text[]) as f (feed) order by 1 on conflict do nothing",
                                {sql_array(feeds), std::to_string(kLanes - 1)});
  if (!added) return added.failure();
  return {};
}

Result<void> PostgresLeases::give(const std::string& relay, const Share& share, int from) {
  auto opened = session_.connection();
  if (!opened) return opened.failure();
  auto& connection = **opened;
  const auto& position = session_.names().position;
  const std::string own = " where sink = $1 and lane = $2::int and lane_to = $3::int and owner = $4";
  const db::PgValues values{share.feed, std::to_string(share.lanes.first), std::to_string(share.lanes.last), relay};
  auto transaction = db::PgTransaction::begin(connection);
  if (!transaction) return transaction.failure();
  // Until a settle of a runner that gave up waiting for it is done: what is copied must be what it wrote.
  auto held = connection.query("select from " + position + own + " for update", values);
  if (!held) return held.failure();
  if (from > share.lanes.first) {
    auto cut = connection.query("insert into " + position +
                                    " (sink, lane, lane_to, epoch, owner, s1, s2, last, ahead, ahead_xid, high)"
                                    " select sink, " +
                                    std::to_string(from) +
                                    ", lane_to, epoch, '', s1, s2, last, ahead, ahead_xid, high from " + position + own,
                                values);
    if (!cut) return cut.failure();
  }
  const std::string change =
      from > share.lanes.first ? "lane_to = " + std::to_string(from - 1) : std::string("owner = ''");
  auto given = connection.query("update " + position + " set epoch = epoch + 1, " + change + own, values);
  if (!given) return given.failure();
  if (given->affected() == 0) {
    return Failure{FailureKind::fenced,
                   share.feed + ", lanes " + to_string(share.lanes) + ": not owned by " + relay + " any more"};
  }
  return transaction->commit();
}

Result<void> PostgresLeases::end(const std::string& relay) {
  auto opened = session_.connection();
  if (!opened) return opened.failure();
  auto ended = (*opened)->query("delete from " + session_.names().lease + " where relay = $1", {relay});
  if (!ended) return ended.failure();
  return {};
}

}  // namespace

std::unique_ptr<Leases> make_postgres_leases(const std::string& url, const TableMapping& table) {
  return std::make_unique<PostgresLeases>(url, table);
}

}  // namespace outbox
