#include "store/postgres/settle.h"

#include "store/postgres/park_rows.h"

namespace outbox {

namespace {

using db::PgValues;

Failure fenced(const Feed& feed, std::uint64_t epoch) {
  return {FailureKind::fenced, "feed " + feed.name + ": another relay has taken over since epoch " +
                                   std::to_string(epoch) + "; this one settles nothing any more"};
}

// Moves the position, or only looks at the epoch and locks its row, where the batch has no position. $1 feed, $2 epoch.
std::string fence_sql(const PgSession& session, const Feed& feed, const SettleBatch& batch) {
  std::string set = "updated_at = now()";
  if (batch.position) {
    set +=
        ", s1 = $3::pg_snapshot, s2 = $4::pg_snapshot, last = $5::bigint, high = greatest(high, $5::bigint)"
        ", ahead = $6::bigint[], ahead_xid = $7::xid8[]";
  }
  return "update " + session.names().position + " set " + set +
         " where sink = $1 and epoch = $2::bigint and lane = " + std::to_string(feed.lanes.first);
}

PgValues fence_values(const Feed& feed, std::uint64_t epoch, const SettleBatch& batch) {
  PgValues values{feed.name, std::to_string(epoch)};
  if (batch.position) {
    const auto& position = *batch.position;
    values.push_back(position.from);
    values.push_back(position.to.empty() ? db::PgValue() : position.to);
    values.push_back(std::to_string(position.seq));
    std::vector<std::int64_t> seqs;
    std::vector<std::uint64_t> xids;
    for (const RowRef& row : position.ahead) {
      seqs.push_back(row.seq);
      xids.push_back(row.xid);
    }
    values.push_back(sql_array(seqs));
    values.push_back(sql_array(xids));
  }
  return values;
}

// Marks or deletes the rows that are settled. `ids` is the parameter that holds their ids.
std::string mark_sql(const PgSession& session, const std::string& ids, const std::string& condition) {
  const auto& table = session.names().outbox;
  const auto where = " where " + session.column("id") + " = any(" + ids + ")" + condition;
  if (session.table().sent == SentMode::remove) return "delete from " + table + where;
  const auto published = session.column("published_at");
  return "update " + table + " set " + published + " = now()" + where + " and " + published + " is null";
}

std::string ids_of(const std::vector<RecordPtr>& records) {
  std::vector<std::string> ids;
  ids.reserve(records.size());
  for (const auto& record : records) ids.push_back(record->id);
  return sql_array(ids);
}

// Only the position moves. It is committed without waiting for the disk: a crash costs duplicates, never a message.
// set_config(…, true) ends with this statement's own transaction, so nothing leaks through a pooler.
Result<void> move_position(db::PgConnection& connection, const PgSession& session, const Feed& feed,
                           std::uint64_t epoch, const SettleBatch& batch) {
  auto moved = connection.query_often(
      fence_sql(session, feed, batch) + " and (select set_config('synchronous_commit', 'off', true)) = 'off'",
      fence_values(feed, epoch, batch));
  if (!moved) return moved.failure();
  if (moved->affected() == 0) return fenced(feed, epoch);
  return {};
}

// Only marks: the fence and the marks are one statement, so nothing is marked without the fence.
Result<void> mark_only(db::PgConnection& connection, const PgSession& session, const Feed& feed, std::uint64_t epoch,
                       const SettleBatch& batch) {
  const auto sql = "with fence as (" + fence_sql(session, feed, batch) + " returning 1), marked as (" +
                   mark_sql(session, "$3", " and exists (select from fence)") + ") select count(*) from fence";
  auto rows = connection.query_often(sql, {feed.name, std::to_string(epoch), ids_of(batch.settled)});
  if (!rows) return rows.failure();
  if (rows->integer(0, 0) == 0) return fenced(feed, epoch);
  return {};
}

}  // namespace

Result<void> settle_batch(PgSession& session, const Feed& feed, std::uint64_t epoch, const SettleBatch& batch) {
  auto opened = session.connection();
  if (!opened) return opened.failure();
  auto& connection = **opened;
  const bool parked = !batch.parks.empty() || !batch.updates.empty();
  if (!parked && batch.settled.empty() && batch.position) return move_position(connection, session, feed, epoch, batch);
  if (!parked && !batch.position) return mark_only(connection, session, feed, epoch, batch);

  auto transaction = db::PgTransaction::begin(connection);
  if (!transaction) return transaction.failure();
  auto held = connection.query_often(fence_sql(session, feed, batch), fence_values(feed, epoch, batch));
  if (!held) return held.failure();
  if (held->affected() == 0) return fenced(feed, epoch);
  // In this order: what was tried makes room before anything new lines up behind it.
  if (auto done = update_parked(connection, session.names(), batch.updates); !done) return done;
  if (auto done = insert_parked(connection, session.names(), batch.parks); !done) return done;
  if (auto done = promote_heads(connection, session.names(), batch); !done) return done;
  if (!batch.settled.empty()) {
    auto marked = connection.query(mark_sql(session, "$1", ""), {ids_of(batch.settled)});
    if (!marked) return marked.failure();
  }
  return transaction->commit();
}

}  // namespace outbox
