#include "store/sqlite/sqlite_operator.h"

#include <algorithm>

#include "base/utf8.h"
#include "config/database_url.h"
#include "db/sqlite_table.h"
#include "store/message_life.h"
#include "store/sqlite/dead_letters.h"
#include "store/sqlite/parked.h"
#include "store/sqlite/places.h"
#include "store/sqlite/schema.h"
#include "store/sqlite/stream_rows.h"

namespace outbox {
namespace {

using db::Sqlite;
using db::SqliteTransaction;

constexpr std::size_t kAll = 1'000'000;
constexpr std::size_t kTextMax = 4096;

class SqliteOperator final : public OperatorStore {
 public:
  SqliteOperator(const std::string& url, TableMapping mapping)
      : file_(config::sqlite_file(url)), mapping_(std::move(mapping)) {}

  Result<Time> now() override { return db::sqlite_now(); }
  Result<std::vector<DeliveryInfo>> list(ListedState state, const DeliveryFilter& filter,
                                         const std::vector<RouteFilter>& routes, std::size_t limit) override;
  Result<std::vector<DeliveryInfo>> find(const std::vector<std::string>& message_ids, const std::string& sink) override;
  Result<MessageLife> life(const std::string& message_id, const std::vector<RouteFilter>& routes) override;
  Result<RecordPtr> parked_record(std::int64_t row) override;

  Result<DeadLetterWalk> begin_walk(const DeliveryFilter& filter) override {
    DeadLetterWalk walk;
    walk.filter = filter;
    walk.until = db::sqlite_now();
    return walk;
  }
  Result<WalkStep> count(const DeadLetterWalk& walk, int replays_max) override {
    if (auto opened = open(); !opened) return opened.failure();
    return dead_letters().count(walk, replays_max);
  }
  Result<WalkStep> requeue(DeadLetterWalk& walk, int replays_max, std::size_t max_rows, const Act& act) override {
    if (auto opened = open(); !opened) return opened.failure();
    return dead_letters().requeue(walk, replays_max, max_rows, act, db::sqlite_now());
  }
  Result<WalkStep> discard(DeadLetterWalk& walk, std::size_t max_rows, const Act& act) override {
    if (auto opened = open(); !opened) return opened.failure();
    return dead_letters().discard(walk, max_rows, act, db::sqlite_now());
  }
  Result<bool> replace(std::int64_t row, const std::string& new_id, const std::string& payload, int replays_max,
                       const Act& act) override {
    if (auto opened = open(); !opened) return opened.failure();
    return dead_letters().replace(row, new_id, payload, replays_max, act, db::sqlite_now());
  }

  Result<bool> pause(const std::string& sink, const Act& act) override;
  Result<bool> resume(const std::string& sink, const Act& act) override;
  Result<SinkHoldings> holdings(const std::string& sink) override;
  Result<bool> forget(const std::string& sink, std::size_t max_rows, const Act& act) override;

 private:
  Result<void> open();
  SqliteFiles files() { return {*state_, *application_, table_, mapping_.prefix}; }
  DeadLetterTable dead_letters() { return {*state_, mapping_.prefix}; }
  std::string sql(std::string_view text) const { return db::with_prefix(text, mapping_.prefix); }
  Result<void> write_audit(const std::string& action, const std::string& sink, const Act& act,
                           const std::string& detail);
  Result<std::vector<AuditEntry>> audit_of(const std::string& message_id);
  Result<Behind> unsent_of(const std::string& sink);

  std::string file_;
  TableMapping mapping_;
  std::optional<Sqlite> state_;
  std::optional<Sqlite> application_;
  db::SqliteTable table_;
};

Result<void> SqliteOperator::open() {
  if (state_ && application_) return {};
  auto application = db::open_application(file_, Sqlite::Mode::read);
  if (!application) return application.failure();
  auto table = db::inspect_table(*application, mapping_.table, mapping_.columns, mapping_.constants);
  if (!table) return table.failure();
  auto state = open_sqlite_state(file_, mapping_.prefix);
  if (!state) return state.failure();
  table_ = *std::move(table);
  application_.emplace(*std::move(application));
  state_.emplace(*std::move(state));
  return {};
}

Result<std::vector<DeliveryInfo>> SqliteOperator::list(ListedState state, const DeliveryFilter& filter,
                                                       const std::vector<RouteFilter>& routes, std::size_t limit) {
  if (auto opened = open(); !opened) return opened.failure();
  if (state == ListedState::waiting || state == ListedState::dead) {
    return dead_letters().list(state == ListedState::dead ? "dead" : "waiting", filter, limit);
  }
  return stream_deliveries(files(), state == ListedState::sent, filter, {}, routes, limit);
}

Result<std::vector<DeliveryInfo>> SqliteOperator::find(const std::vector<std::string>& message_ids,
                                                       const std::string& sink) {
  if (auto opened = open(); !opened) return opened.failure();
  DeliveryFilter filter;
  filter.message_ids = message_ids;
  filter.sink = sink;
  return dead_letters().list({}, filter, kAll);
}

Result<RecordPtr> SqliteOperator::parked_record(std::int64_t row) {
  if (auto opened = open(); !opened) return opened.failure();
  return ParkedTable(*state_, mapping_.prefix).record_of(row);
}

Result<std::vector<AuditEntry>> SqliteOperator::audit_of(const std::string& message_id) {
  auto rows = state_->query(sql("SELECT at, actor, action, sink, message_id, reason, detail FROM outbox_audit WHERE "
                                "message_id = ? AND message_id <> '' ORDER BY audit"),
                            {message_id});
  if (!rows) return rows.failure();
  std::vector<AuditEntry> entries;
  while (true) {
    auto row = rows->next();
    if (!row) return row.failure();
    if (!*row) return entries;
    const auto text = [&](int column) { return std::string(rows->text(column)); };
    entries.push_back({rows->time(0), text(1), text(2), text(3), text(4), text(5), text(6)});
  }
}

Result<MessageLife> SqliteOperator::life(const std::string& message_id, const std::vector<RouteFilter>& routes) {
  if (auto opened = open(); !opened) return opened.failure();
  return put_together(
      message_id,
      {.audit = [&] { return audit_of(message_id); },
       .record = [&] { return application_record(files(), message_id); },
       .parked = [&] { return find({message_id}, {}); },
       .streamed = [&](bool passed) { return stream_deliveries(files(), passed, {}, message_id, routes, kAll); },
       .parked_record = [&](std::int64_t row) { return parked_record(row); }});
}

Result<void> SqliteOperator::write_audit(const std::string& action, const std::string& sink, const Act& act,
                                         const std::string& detail) {
  auto written = state_->run(
      sql("INSERT INTO outbox_audit (at, actor, action, sink, reason, detail) VALUES (?, ?, ?, ?, ?, ?)"),
      {db::sqlite_now(), valid_utf8(act.actor, kTextMax), action, sink, valid_utf8(act.reason, kTextMax), detail});
  if (!written) return written.failure();
  return {};
}

Result<bool> SqliteOperator::pause(const std::string& sink, const Act& act) {
  if (auto opened = open(); !opened) return opened.failure();
  auto transaction = SqliteTransaction::begin(*state_);
  if (!transaction) return transaction.failure();
  auto changed = state_->run(
      sql("INSERT INTO outbox_pause (sink, actor, reason, since) VALUES (?, ?, ?, ?) ON CONFLICT (sink) DO NOTHING"),
      {sink, valid_utf8(act.actor, kTextMax), valid_utf8(act.reason, kTextMax), db::sqlite_now()});
  if (!changed) return changed.failure();
  if (*changed == 0) return false;
  if (auto written = write_audit("paused", sink, act, {}); !written) return written.failure();
  if (auto committed = transaction->commit(); !committed) return committed.failure();
  return true;
}

Result<bool> SqliteOperator::resume(const std::string& sink, const Act& act) {
  if (auto opened = open(); !opened) return opened.failure();
  auto transaction = SqliteTransaction::begin(*state_);
  if (!transaction) return transaction.failure();
  auto changed = state_->run(sql("DELETE FROM outbox_pause WHERE sink = ?"), {sink});
  if (!changed) return changed.failure();
  if (*changed == 0) return false;
  if (auto written = write_audit("resumed", sink, act, {}); !written) return written.failure();
  if (auto committed = transaction->commit(); !committed) return committed.failure();
  return true;
}

Result<Behind> SqliteOperator::unsent_of(const std::string& sink) {
  const auto place = Places(*state_, mapping_.prefix).find(sink);
  if (!place) return place.failure();
  return *place ? count_behind(files(), (*place)->position) : Result<Behind>(Behind{});
}

Result<SinkHoldings> SqliteOperator::holdings(const std::string& sink) {
  if (auto opened = open(); !opened) return opened.failure();
  auto rows = state_->query(
      sql("SELECT EXISTS (SELECT 1 FROM outbox_position WHERE sink = ?1), EXISTS (SELECT 1 FROM outbox_pause WHERE "
          "sink "
          "= ?1), coalesce(sum(state = 'waiting'), 0), coalesce(sum(state = 'dead'), 0), coalesce(sum(state = 'done'), "
          "0) FROM outbox_delivery WHERE sink = ?1"),
      {sink});
  if (!rows) return rows.failure();
  auto row = rows->next();
  if (!row) return row.failure();
  const auto unsent = unsent_of(sink);
  if (!unsent) return unsent.failure();
  return SinkHoldings{unsent->rows,     unsent->capped,   rows->integer(0) != 0, rows->integer(1) != 0,
                      rows->integer(2), rows->integer(3), rows->integer(4)};
}

Result<bool> SqliteOperator::forget(const std::string& sink, std::size_t max_rows, const Act& act) {
  if (auto opened = open(); !opened) return opened.failure();
  const auto unsent = unsent_of(sink);
  if (!unsent) return unsent.failure();
  auto transaction = SqliteTransaction::begin(*state_);
  if (!transaction) return transaction.failure();
  const auto most = static_cast<std::int64_t>(max_rows);
  std::int64_t gone = 0, waiting = 0, dead = 0;
  {
    auto rows =
        state_->query(sql("DELETE FROM outbox_delivery WHERE row IN (SELECT row FROM outbox_delivery WHERE sink "
                          "= ? LIMIT ?) RETURNING state"),
                      {sink, most});
    if (!rows) return rows.failure();
    while (true) {
      auto row = rows->next();
      if (!row) return row.failure();
      if (!*row) break;
      ++gone;
      waiting += rows->text(0) == "waiting" ? 1 : 0;
      dead += rows->text(0) == "dead" ? 1 : 0;
    }
  }
  const bool all = gone < most;
  std::string detail = std::to_string(waiting) + " waiting, " + std::to_string(dead) + " dead";
  if (all) {
    for (const std::string table : {"outbox_position", "outbox_history", "outbox_pause"}) {
      auto rows = state_->run(sql("DELETE FROM " + table + " WHERE sink = ?"), {sink});
      if (!rows) return rows.failure();
      if (table == "outbox_position" && *rows > 0) {
        detail += ", and its position" + not_passed(unsent->rows, unsent->capped);
      }
    }
    auto start = Places(*state_, mapping_.prefix).forget_start(sink);
    if (!start) return start.failure();
  }
  if (auto written = write_audit("forgotten", sink, act, detail); !written) return written.failure();
  if (auto committed = transaction->commit(); !committed) return committed.failure();
  return all;
}

}  // namespace

std::unique_ptr<OperatorStore> make_sqlite_operator(const std::string& url, const TableMapping& mapping) {
  return std::make_unique<SqliteOperator>(url, mapping);
}

}  // namespace outbox
