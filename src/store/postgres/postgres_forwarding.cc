#include "store/postgres/postgres_forwarding.h"

#include "store/postgres/park_rows.h"
#include "store/postgres/session.h"
#include "store/postgres/take_over.h"

namespace outbox {

namespace {

// Matches the index outbox_delivery_unforwarded.
constexpr const char* kUnforwarded = "d.state = 'dead' and (d.forwarded is null or d.forwarded <> d.changed_at)";

class PostgresForwarding final : public ForwardingStore {
 public:
  PostgresForwarding(const std::string& url, const TableMapping& table) : session_(url, table) {}

  Result<std::uint64_t> take_over(const std::string& relay) override;
  Result<std::vector<DeadLetter>> next(const DeathPlace& after, std::size_t max_rows, std::size_t max_bytes) override;
  Result<void> mark(std::uint64_t epoch, const std::vector<Forwarded>& forwarded) override;
  Result<std::int64_t> left() override;

 private:
  PgSession session_;
};

Result<std::uint64_t> PostgresForwarding::take_over(const std::string& relay) {
  auto opened = session_.connection();
  if (!opened) return opened.failure();
  const auto& delivery = session_.names().delivery;
  auto rows = (*opened)->query(
      "select exists (select from pg_attribute where attrelid = to_regclass($1) and attname = 'forwarded' and not"
      " attisdropped)",
      {delivery});
  if (!rows) return rows.failure();
  if (!rows->flag(0, 0)) {
    return Failure{
        FailureKind::invalid,
        delivery + " cannot remember which dead letters were forwarded: run `outboxd init` for this database"};
  }
  auto state = take_feed_over(session_, Feed{kForwardingFeed, {}, false, true, {}}, relay);
  if (!state) return state.failure();
  return state->epoch;
}

Result<std::vector<DeadLetter>> PostgresForwarding::next(const DeathPlace& after, std::size_t max_rows,
                                                         std::size_t max_bytes) {
  auto opened = session_.connection();
  if (!opened) return opened.failure();
  const auto& delivery = session_.names().delivery;
  // The sizes of the bodies are known without reading them.
  auto rows = (*opened)->query(
      "with page as (select d.delivery_id, coalesce(octet_length(d.body), 0) as size, d.changed_at, d.ord from " +
          delivery + " d where " + kUnforwarded +
          " and (d.changed_at, d.ord, d.delivery_id) > ($1::timestamptz, $2::bigint, $3::bigint)"
          " order by d.changed_at, d.ord, d.delivery_id limit $4::bigint),"
          " sized as (select delivery_id, sum(size) over (order by changed_at, ord, delivery_id) - size as before"
          " from page) select " +
          parked_columns() + ", d.sink, d.owner, d.reason, d.last_error, " + sql_micros("d.changed_at") +
          ", d.ord from sized join " + delivery +
          " d using (delivery_id) where sized.before < $5::bigint and d.state = 'dead'"
          " order by d.changed_at, d.ord, d.delivery_id",
      {db::pg_time(after.died_at), std::to_string(after.ord), std::to_string(after.row), std::to_string(max_rows),
       std::to_string(max_bytes)});
  if (!rows) return rows.failure();
  std::vector<DeadLetter> found;
  found.reserve(static_cast<std::size_t>(rows->size()));
  for (int i = 0; i < rows->size(); ++i) {
    Parked parked = parked_from(*rows, i);
    found.push_back({{pg_micros(*rows, i, kParkedColumns + 4), rows->integer(i, kParkedColumns + 5), parked.row},
                     std::move(parked.record),
                     rows->text(i, kParkedColumns),
                     rows->text(i, kParkedColumns + 1),
                     rows->text(i, kParkedColumns + 2),
                     rows->text(i, kParkedColumns + 3),
                     parked.attempts});
  }
  return found;
}

Result<void> PostgresForwarding::mark(std::uint64_t epoch, const std::vector<Forwarded>& forwarded) {
  auto opened = session_.connection();
  if (!opened) return opened.failure();
  const auto& names = session_.names();
  std::vector<std::int64_t> rows;
  std::vector<std::string> died, refusals;
  for (const Forwarded& each : forwarded) {
    rows.push_back(each.row);
    died.push_back(db::pg_time(each.died_at));
    refusals.push_back(storable(each.refusal));
  }
  auto marked = (*opened)->query(
      "with fence as (update " + names.position +
          " set updated_at = now() where sink = $1 and epoch = $2::bigint returning 1), marked as (update " +
          names.delivery +
          " d set forwarded = d.changed_at, forward_refusal = u.refusal from unnest($3::bigint[], $4::timestamptz[],"
          " $5::text[]) as u (delivery_id, died_at, refusal) where d.delivery_id = u.delivery_id and d.state = 'dead'"
          " and d.changed_at = u.died_at and exists (select from fence)) select count(*) from fence",
      {kForwardingFeed, std::to_string(epoch), sql_array(rows), sql_array(died), sql_array(refusals)});
  if (!marked) return marked.failure();
  if (marked->integer(0, 0) == 0) {
    return Failure{FailureKind::fenced, "dead letters: another relay forwards them since epoch " +
                                            std::to_string(epoch) + "; this one marks nothing any more"};
  }
  return {};
}

Result<std::int64_t> PostgresForwarding::left() {
  auto opened = session_.connection();
  if (!opened) return opened.failure();
  auto rows = (*opened)->run("select count(*) from (select from " + session_.names().delivery + " d where " +
                             kUnforwarded + " limit " + std::to_string(kForwardingCountMax) + ") u");
  if (!rows) return rows.failure();
  return rows->integer(0, 0);
}

}  // namespace

std::unique_ptr<ForwardingStore> make_postgres_forwarding(const std::string& url, const TableMapping& table) {
  return std::make_unique<PostgresForwarding>(url, table);
}

}  // namespace outbox
