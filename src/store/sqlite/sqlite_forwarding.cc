#include "store/sqlite/sqlite_forwarding.h"

#include <optional>

#include "base/utf8.h"
#include "config/database_url.h"
#include "db/sqlite_table.h"
#include "store/sqlite/parked.h"
#include "store/sqlite/schema.h"

namespace outbox {
namespace {

using db::Sqlite;
using db::SqliteTransaction;

constexpr std::size_t kTextMax = 4096;

// Matches the index outbox_delivery_unforwarded.
constexpr std::string_view kUnforwarded = "state = 'dead' AND (forwarded IS NULL OR forwarded <> updated_at)";

class SqliteForwarding final : public ForwardingStore {
 public:
  SqliteForwarding(const std::string& url, TableMapping mapping)
      : file_(config::sqlite_file(url)), mapping_(std::move(mapping)) {}

  // Nobody else can be there: the relay has the lock on FILE-outboxd.lock.
  Result<std::uint64_t> take_over(const std::string&) override { return checked(raise_epoch()); }
  Result<std::vector<DeadLetter>> next(const DeathPlace& after, std::size_t max_rows, std::size_t max_bytes) override {
    return checked(read_next(after, max_rows, max_bytes));
  }
  Result<void> mark(std::uint64_t epoch, const std::vector<Forwarded>& forwarded) override {
    return checked(write_marks(epoch, forwarded));
  }
  Result<std::int64_t> left() override { return checked(count_left()); }

 private:
  Result<void> open();
  Result<std::uint64_t> raise_epoch();
  Result<std::vector<DeadLetter>> read_next(const DeathPlace& after, std::size_t max_rows, std::size_t max_bytes);
  Result<void> write_marks(std::uint64_t epoch, const std::vector<Forwarded>& forwarded);
  Result<std::int64_t> count_left();
  std::string sql(std::string_view text) const { return db::with_prefix(text, mapping_.prefix); }

  // A connection that failed is given up; the next call opens anew.
  template <class T>
  Result<T> checked(Result<T> result) {
    if (!result && result.failure().kind != FailureKind::fenced) state_.reset();
    return result;
  }

  std::string file_;
  TableMapping mapping_;
  std::optional<Sqlite> state_;
};

Result<void> SqliteForwarding::open() {
  if (state_ && !state_->replaced()) return {};
  state_.reset();
  auto opened = open_sqlite_state(file_, mapping_.prefix);
  if (!opened) return opened.failure();
  state_.emplace(std::move(*opened));
  return {};
}

Result<std::uint64_t> SqliteForwarding::raise_epoch() {
  if (auto opened = open(); !opened) return opened.failure();
  auto transaction = SqliteTransaction::begin(*state_);
  if (!transaction) return transaction.failure();
  auto raised =
      state_->run(sql("INSERT INTO outbox_meta (name, value) VALUES ('forwarding_epoch', '1') ON CONFLICT "
                      "(name) DO UPDATE SET value = CAST(value AS INTEGER) + 1"));
  if (!raised) return raised.failure();
  auto epoch = state_->integer(sql("SELECT CAST(value AS INTEGER) FROM outbox_meta WHERE name = 'forwarding_epoch'"));
  if (!epoch) return epoch.failure();
  if (auto committed = transaction->commit(); !committed) return committed.failure();
  return static_cast<std::uint64_t>(epoch->value_or(0));
}

Result<std::vector<DeadLetter>> SqliteForwarding::read_next(const DeathPlace& after, std::size_t max_rows,
                                                            std::size_t max_bytes) {
  if (auto opened = open(); !opened) return opened.failure();
  std::vector<DeadLetter> found;
  {
    auto rows = state_->query(sql("SELECT row, updated_at, ord, sink, owner, reason, last_error, attempts, "
                                  "coalesce(length(payload), 0) FROM outbox_delivery WHERE " +
                                  std::string(kUnforwarded) +
                                  " AND (updated_at, ord, row) > (?, ?, ?) ORDER BY updated_at, ord, row LIMIT ?"),
                              {after.died_at, after.ord, after.row, static_cast<std::int64_t>(max_rows)});
    if (!rows) return rows.failure();
    std::size_t bytes = 0;
    while (bytes < max_bytes) {
      auto row = rows->next();
      if (!row) return row.failure();
      if (!*row) break;
      found.push_back({{rows->time(1), rows->integer(2), rows->integer(0)},
                       nullptr,
                       std::string(rows->text(3)),
                       std::string(rows->text(4)),
                       std::string(rows->text(5)),
                       std::string(rows->text(6)),
                       static_cast<int>(rows->integer(7))});
      bytes += static_cast<std::size_t>(rows->integer(8));
    }
  }
  ParkedTable parked(*state_, mapping_.prefix);
  for (DeadLetter& each : found) {
    auto record = parked.record_of(each.place.row);
    if (!record) return record.failure();
    each.record = *std::move(record);
  }
  // Discarded since.
  std::erase_if(found, [](const DeadLetter& each) { return each.record == nullptr; });
  return found;
}

Result<void> SqliteForwarding::write_marks(std::uint64_t epoch, const std::vector<Forwarded>& forwarded) {
  if (auto opened = open(); !opened) return opened.failure();
  auto transaction = SqliteTransaction::begin(*state_);
  if (!transaction) return transaction.failure();
  auto current = state_->integer(sql("SELECT CAST(value AS INTEGER) FROM outbox_meta WHERE name = 'forwarding_epoch'"));
  if (!current) return current.failure();
  if (static_cast<std::uint64_t>(current->value_or(0)) != epoch) {
    return Failure{FailureKind::fenced,
                   "sqlite " + state_->file() + ": another relay forwards the dead letters; this one marks nothing"};
  }
  for (const Forwarded& each : forwarded) {
    auto marked = state_->run(sql("UPDATE outbox_delivery SET forwarded = updated_at, forward_refusal = ?1 WHERE row = "
                                  "?2 AND state = 'dead' AND updated_at = ?3"),
                              {valid_utf8(each.refusal, kTextMax), each.row, each.died_at});
    if (!marked) return marked.failure();
  }
  return transaction->commit();
}

Result<std::int64_t> SqliteForwarding::count_left() {
  if (auto opened = open(); !opened) return opened.failure();
  auto count = state_->integer(
      sql("SELECT count(*) FROM (SELECT 1 FROM outbox_delivery WHERE " + std::string(kUnforwarded) + " LIMIT ?)"),
      {kForwardingCountMax});
  if (!count) return count.failure();
  return count->value_or(0);
}

}  // namespace

std::unique_ptr<ForwardingStore> make_sqlite_forwarding(const std::string& url, const TableMapping& mapping) {
  return std::make_unique<SqliteForwarding>(url, mapping);
}

}  // namespace outbox
