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

bool has_versions(const std::vector<RecordPtr>& settled) { return !settled.empty() && settled.front()->xid != 0; }

// The rows that are settled, but neither marked nor deleted: $`first` their ids, and behind it their versions, where
// the table has any. A row that was changed after it was read is not among them: what it says now was not sent.
std::string unmarked(const PgSession& session, const std::vector<RecordPtr>& settled, int first) {
  const auto id = session.column("id");
  std::string rows = id + " = any($" + std::to_string(first) + ")";
  if (has_versions(settled)) {  // "is true": hashed, never a join whose size the planner cannot know
    rows += " and ((" + id + "::text || ' ' || xmin::text) collate \"C\" in (select unnest($" +
            std::to_string(first + 1) + "::text[]))) is true";
  }
  if (session.table().sent == SentMode::mark) rows += " and " + session.column("published_at") + " is null";
  return rows;
}

std::string mark_sql(const PgSession& session, const std::string& rows) {
  const auto& table = session.names().outbox;
  if (session.table().sent == SentMode::remove) return "delete from " + table + " where " + rows;
  return "update " + table + " set " + session.column("published_at") + " = now() where " + rows;
}

void add_rows(PgValues& values, const std::vector<RecordPtr>& settled) {
  std::vector<std::string> ids, versions;
  ids.reserve(settled.size());
  for (const auto& record : settled) ids.push_back(record->id);
  values.push_back(sql_array(ids));
  if (!has_versions(settled)) return;
  versions.reserve(settled.size());
  for (const auto& record : settled) versions.push_back(record->id + " " + std::to_string(record->xid));
  values.push_back(sql_array(versions));
}

// A mark that the database accepts and that takes no effect would send the row again, for ever. `marked`: how many
// were.
Result<void> check_marks(db::PgConnection& connection, const PgSession& session, const std::vector<RecordPtr>& settled,
                         std::int64_t marked) {
  if (marked >= static_cast<std::int64_t>(settled.size())) return {};
  PgValues values;
  add_rows(values, settled);
  const auto& table = session.names().outbox;
  auto left = connection.query("select count(*) from " + table + " where " + unmarked(session, settled, 1), values);
  if (!left) return left.failure();
  if (left->integer(0, 0) == 0) return {};  // the application has changed or deleted what is missing
  const bool removes = session.table().sent == SentMode::remove;
  return Failure{FailureKind::invalid, std::string(removes ? "a delete from " : "an update of ") + table +
                                           " was accepted and left the row as it was: look for a trigger that returns "
                                           "null, a rule or a policy, and let the relay's role " +
                                           (removes ? "delete its rows" : "set " + session.column("published_at"))};
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
                   mark_sql(session, unmarked(session, batch.settled, 3) + " and exists (select from fence)") +
                   " returning 1) select (select count(*) from fence), (select count(*) from marked)";
  PgValues values{feed.name, std::to_string(epoch)};
  add_rows(values, batch.settled);
  auto rows = connection.query_often(sql, values);
  if (!rows) return rows.failure();
  if (rows->integer(0, 0) == 0) return fenced(feed, epoch);
  return check_marks(connection, session, batch.settled, rows->integer(0, 1));
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
    PgValues values;
    add_rows(values, batch.settled);
    auto marked = connection.query(mark_sql(session, unmarked(session, batch.settled, 1)), values);
    if (!marked) return marked.failure();
    if (auto done = check_marks(connection, session, batch.settled, marked->affected()); !done) return done;
  }
  return transaction->commit();
}

}  // namespace outbox
