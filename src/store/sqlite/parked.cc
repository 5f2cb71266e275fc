#include "store/sqlite/parked.h"

#include <algorithm>

#include "base/utf8.h"
#include "db/sqlite_table.h"

namespace outbox {
namespace {

using db::SqliteRows;
using db::SqliteValue;

constexpr std::size_t kErrorMax = 4096;

// NULL there means that the message has no payload, and a null payload is none.
SqliteValue payload_of(const Record& record) {
  if (record.payload_null) return nullptr;
  return db::Blob{record.payload};
}

constexpr std::string_view kRecordColumns =
    "message_id, seq, key, aggregate_type, aggregate_id, type, payload, payload_json, headers, traceparent, "
    "created_at, "
    "not_before, aggregate_version, schema_version";

RecordPtr read_record(const SqliteRows& row, int first) {
  auto record = std::make_shared<Record>();
  record->id = row.text(first);
  record->seq = row.integer(first + 1);
  record->key = row.text(first + 2);
  record->aggregate_type = row.text(first + 3);
  record->aggregate_id = row.text(first + 4);
  record->type = row.text(first + 5);
  record->payload_null = row.null(first + 6);
  record->payload = row.text(first + 6);
  record->payload_json = row.integer(first + 7) != 0;
  record->headers = row.text(first + 8);
  record->traceparent = row.text(first + 9);
  record->created_at = row.time(first + 10);
  if (!row.null(first + 11)) record->not_before = row.time(first + 11);
  if (!row.null(first + 12)) record->aggregate_version = row.integer(first + 12);
  if (!row.null(first + 13)) record->schema_version = static_cast<std::int32_t>(row.integer(first + 13));
  return record;
}

}  // namespace

std::string ParkedTable::sql(std::string_view text) const { return db::with_prefix(text, prefix_); }

Result<void> ParkedTable::write(const std::string& sink, const std::vector<Park>& parks,
                                const std::vector<ParkedUpdate>& updates, Time now) {
  Touched touched;
  for (const auto& each : updates) {
    auto done = update(each, now, touched);
    if (!done) return done;
  }
  for (const auto& each : parks) {
    OUTBOX_ASSERT(each.sink == sink);
    auto done = park(each, now, touched);
    if (!done) return done;
  }
  for (const auto& [each_sink, key] : touched) {
    auto done = pass_turn(each_sink, key);
    if (!done) return done;
  }
  return {};
}

Result<void> ParkedTable::park(const Park& park, Time now, Touched& touched) {
  const Record& record = *park.record;
  const bool waits = park.state == DeliveryState::waiting;
  auto inserted = state_.run(
      sql("INSERT INTO outbox_delivery (sink, message_id, ord, key, state, turn, attempts, charged, not_due, "
          "holds_key, "
          "next_attempt_at, reason, last_error, owner, parked_at, updated_at, seq, aggregate_type, aggregate_id, type, "
          "payload, payload_json, headers, traceparent, created_at, not_before, aggregate_version, schema_version) "
          "VALUES (?1, ?2, (SELECT coalesce(max(ord), 0) + 1 FROM outbox_delivery WHERE sink = ?1), ?3, ?4, ?7, ?5, "
          "?6, "
          "?7, ?8, ?9, ?10, ?11, ?12, ?13, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24, ?25) "
          "ON CONFLICT (message_id, sink) DO NOTHING"),
      {park.sink,
       record.id,
       record.key,
       waits ? "waiting" : "dead",
       park.attempts,
       int{park.charged},
       int{waits && park.not_due},
       int{!waits && park.holds_key},
       park.next_attempt,
       park.reason,
       valid_utf8(park.error, kErrorMax),
       park.owner,
       now,
       record.seq,
       record.aggregate_type,
       record.aggregate_id,
       record.type,
       payload_of(record),
       int{record.payload_json},
       record.headers,
       record.traceparent,
       record.created_at,
       record.not_before,
       record.aggregate_version,
       record.schema_version});
  if (!inserted) return inserted.failure();
  if (*inserted > 0) touched.emplace(park.sink, record.key);
  return {};
}

Result<void> ParkedTable::update(const ParkedUpdate& update, Time now, Touched& touched) {
  std::string sink;
  std::string key;
  {
    auto rows =
        state_.query(sql("SELECT sink, key FROM outbox_delivery WHERE row = ? AND state = 'waiting' AND replays = ?"),
                     {update.row, update.replays});
    if (!rows) return rows.failure();
    auto row = rows->next();
    if (!row) return row.failure();
    if (!*row) return {};  // written by an earlier try of this batch, or an operator's decision, which stands
    sink = rows->text(0);
    key = rows->text(1);
  }
  touched.emplace(sink, key);
  Result<std::int64_t> changed = 0;
  switch (update.kind) {
    case ParkedUpdate::Kind::done:
      changed = state_.run(sql("UPDATE outbox_delivery SET state = 'done', turn = 0, not_due = 0, payload = NULL, "
                               "updated_at = ? WHERE row = ?"),
                           {now, update.row});
      break;
    case ParkedUpdate::Kind::waiting:
      changed = state_.run(
          sql("UPDATE outbox_delivery SET charged = charged OR ?1 > attempts, parked_at = CASE WHEN attempts = 0 AND "
              "?1 > 0 THEN ?5 ELSE parked_at END, attempts = ?1, not_due = 0, "
              "next_attempt_at = ?2, reason = ?3, last_error = ?4, updated_at = ?5 WHERE row = ?6"),
          {update.attempts, update.next_attempt, update.reason, valid_utf8(update.error, kErrorMax), now, update.row});
      break;
    case ParkedUpdate::Kind::dead:
      changed = state_.run(sql("UPDATE outbox_delivery SET state = 'dead', turn = 0, not_due = 0, attempts = ?1, "
                               "holds_key = ?2, reason = ?3, last_error = ?4, updated_at = ?5 WHERE row = ?6"),
                           {update.attempts, int{update.holds_key}, update.reason, valid_utf8(update.error, kErrorMax),
                            now, update.row});
      break;
  }
  if (!changed) return changed.failure();
  return {};
}

// turn = 1 belongs to the first waiting row of the key, unless a dead one holds it back. Rows that are not due yet have
// it anyway: they wait for their time only.
Result<void> ParkedTable::pass_turn(const std::string& sink, const std::string& key) {
  std::int64_t first = 0;
  {
    auto rows = state_.query(
        sql("SELECT row, state FROM outbox_delivery INDEXED BY outbox_delivery_key WHERE sink = ? AND key = ? AND "
            "state IN ('waiting', 'dead') AND not_due = 0 AND (state = 'waiting' OR holds_key = 1) ORDER BY ord LIMIT "
            "1"),
        {sink, key});
    if (!rows) return rows.failure();
    auto row = rows->next();
    if (!row) return row.failure();
    if (*row && rows->text(1) == "waiting") first = rows->integer(0);
  }
  auto taken =
      state_.run(sql("UPDATE outbox_delivery SET turn = 0 WHERE sink = ? AND key = ? AND state = 'waiting' AND "
                     "turn = 1 AND not_due = 0 AND row <> ?"),
                 {sink, key, first});
  if (!taken) return taken.failure();
  auto given = state_.run(sql("UPDATE outbox_delivery SET turn = 1 WHERE row = ? AND turn = 0"), {first});
  if (!given) return given.failure();
  return {};
}

Result<RecordPtr> ParkedTable::record_of(std::int64_t row) {
  auto rows = state_.query(sql("SELECT " + std::string(kRecordColumns) +
                               " FROM outbox_delivery WHERE row = ? AND state IN ('waiting', 'dead')"),
                           {row});
  if (!rows) return rows.failure();
  auto found = rows->next();
  if (!found) return found.failure();
  return *found ? read_record(*rows, 0) : RecordPtr();
}

// Runs a statement that returns keys, and appends them.
Result<void> ParkedTable::keys_of(const std::string& statement, db::SqliteValues values,
                                  std::vector<std::string>& keys) {
  auto rows = state_.query(statement, values);
  if (!rows) return rows.failure();
  while (true) {
    auto row = rows->next();
    if (!row) return row.failure();
    if (!*row) return {};
    keys.emplace_back(rows->text(0));
  }
}

Result<void> ParkedTable::release_due(const std::string& sink, Time now) {
  constexpr std::string_view kDue =
      " WHERE sink = ? AND state = 'waiting' AND turn = 1 AND next_attempt_at <= ? AND not_due = 1";
  auto any = state_.integer(sql("SELECT 1 FROM outbox_delivery" + std::string(kDue) + " LIMIT 1"), {sink, now});
  if (!any) return any.failure();
  if (!*any) return {};
  auto transaction = db::SqliteTransaction::begin(state_);
  if (!transaction) return transaction.failure();
  std::vector<std::string> keys;
  auto released =
      keys_of(sql("UPDATE outbox_delivery SET not_due = 0" + std::string(kDue) + " RETURNING key"), {sink, now}, keys);
  if (!released) return released;
  for (const auto& key : std::set<std::string>(keys.begin(), keys.end())) {
    auto passed = pass_turn(sink, key);
    if (!passed) return passed;
  }
  return transaction->commit();
}

Result<ParkedRun> ParkedTable::run_of(const std::string& sink, const std::string& key, std::size_t run_max, Time now) {
  ParkedRun run;
  run.key = key;
  auto rows = state_.query(
      sql("SELECT row, state, attempts, replays, charged, next_attempt_at, parked_at, " + std::string(kRecordColumns) +
          " FROM outbox_delivery INDEXED BY outbox_delivery_key WHERE sink = ? AND key = ? AND "
          "state IN ('waiting', 'dead') AND not_due = 0 AND "
          "(state = 'waiting' OR holds_key = 1) ORDER BY ord LIMIT ?"),
      {sink, key, static_cast<std::int64_t>(run_max + 1)});
  if (!rows) return rows.failure();
  while (true) {
    auto row = rows->next();
    if (!row) return row.failure();
    if (!*row || rows->text(1) != "waiting") break;
    const bool due = rows->time(5) <= now;
    const bool follows = !run.deliveries.empty() && rows->integer(4) == 0;
    if (run.deliveries.size() == run_max || (!due && !follows)) {
      run.more = true;
      break;
    }
    Parked parked;
    parked.row = rows->integer(0);
    parked.attempts = static_cast<int>(rows->integer(2));
    parked.replays = static_cast<int>(rows->integer(3));
    parked.failing_since = rows->time(6);
    parked.record = read_record(*rows, 7);
    run.deliveries.push_back(std::move(parked));
  }
  return run;
}

Result<std::vector<ParkedRun>> ParkedTable::due(const std::string& sink, std::size_t max_keys, std::size_t run_max,
                                                const std::vector<std::string>& except, Time now) {
  const std::set<std::string, std::less<>> left_out(except.begin(), except.end());
  std::vector<std::string> keys;
  {
    auto rows =
        state_.query(sql("SELECT key FROM outbox_delivery WHERE sink = ? AND state = 'waiting' AND turn = 1 AND "
                         "next_attempt_at <= ? AND not_due = 0 ORDER BY next_attempt_at"),
                     {sink, now});
    if (!rows) return rows.failure();
    while (keys.size() < max_keys) {
      auto row = rows->next();
      if (!row) return row.failure();
      if (!*row) break;
      if (!left_out.contains(rows->text(0))) keys.emplace_back(rows->text(0));
    }
  }
  std::vector<ParkedRun> runs;
  for (const auto& key : keys) {
    auto run = run_of(sink, key, run_max, now);
    if (!run) return run.failure();
    if (!run->deliveries.empty()) runs.push_back(std::move(*run));
  }
  return runs;
}

Result<Store::Parking> ParkedTable::parking(const std::string& sink, Time now) {
  Store::Parking parking;
  {
    auto rows = state_.query(sql("SELECT coalesce(sum(state = 'waiting'), 0), coalesce(sum(state = 'dead'), 0), "
                                 "coalesce(sum(state = 'waiting' "
                                 "AND charged = 0 AND not_due = 0), 0), coalesce(sum(state = 'waiting' AND not_due = 1 "
                                 "AND next_attempt_at > "
                                 "?2), 0) FROM outbox_delivery WHERE sink = ?1 AND state IN ('waiting', 'dead')"),
                             {sink, now});
    if (!rows) return rows.failure();
    auto row = rows->next();
    if (!row) return row.failure();
    parking.counts.waiting = rows->integer(0);
    parking.counts.dead = rows->integer(1);
    parking.counts.uncharged = rows->integer(2);
    parking.counts.not_due = rows->integer(3);
  }
  auto concerns = state_.integer(
      sql("SELECT EXISTS (SELECT 1 FROM outbox_delivery WHERE sink = ?1 AND (state = 'waiting' OR state = 'dead' AND "
          "holds_key = 1)) OR EXISTS (SELECT 1 FROM outbox_delivery WHERE sink = ?1 AND seq > (SELECT "
          "coalesce(max(seq), "
          "0) FROM outbox_position WHERE sink = ?1))"),
      {sink});
  if (!concerns) return concerns.failure();
  parking.counts.concerns_stream = concerns->value_or(0) != 0;
  auto next = state_.integer(
      sql("SELECT min(next_attempt_at) FROM outbox_delivery WHERE sink = ? AND state = 'waiting' AND turn = 1"),
      {sink});
  if (!next) return next.failure();
  if (*next) parking.next_due = Time(Duration(**next));
  return parking;
}

Result<std::int64_t> ParkedTable::drop_dead(const std::string& sink, Time died_before, std::int64_t max_rows) {
  std::vector<std::string> keys;
  auto gone =
      keys_of(sql("DELETE FROM outbox_delivery WHERE row IN (SELECT row FROM outbox_delivery WHERE sink = ?1 AND "
                  "state = 'dead' AND updated_at < ?2 AND seq <= (SELECT seq FROM outbox_position WHERE sink = "
                  "?1) ORDER BY updated_at LIMIT ?3) RETURNING key"),
              {sink, died_before, max_rows}, keys);
  if (!gone) return gone.failure();
  for (const auto& key : std::set<std::string>(keys.begin(), keys.end())) {
    auto turned = pass_turn(sink, key);
    if (!turned) return turned.failure();
  }
  return static_cast<std::int64_t>(keys.size());
}

Result<PageFacts> ParkedTable::facts(const std::string& sink, const std::vector<std::string>& keys,
                                     const std::vector<std::string>& message_ids, Time now) {
  PageFacts facts;
  for (const auto& key : keys) {
    auto waits = state_.integer(
        sql("SELECT 1 FROM outbox_delivery INDEXED BY outbox_delivery_key WHERE sink = ? AND key = ? AND state IN "
            "('waiting', 'dead') AND (state = 'waiting' AND (not_due = 0 OR next_attempt_at <= ?) OR state = 'dead' "
            "AND "
            "holds_key = 1) LIMIT 1"),
        {sink, key, now});
    if (!waits) return waits.failure();
    if (*waits) facts.waiting_keys.push_back(key);
  }
  for (const auto& id : message_ids) {
    auto known = state_.integer(sql("SELECT 1 FROM outbox_delivery WHERE message_id = ? AND sink = ?"), {id, sink});
    if (!known) return known.failure();
    if (*known) facts.known_messages.push_back(id);
  }
  return facts;
}

}  // namespace outbox
