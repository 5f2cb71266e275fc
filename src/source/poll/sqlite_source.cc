#include "source/poll/sqlite_source.h"

#include <fmt/format.h>

#include <optional>

#include "base/log.h"
#include "config/database_url.h"
#include "db/sqlite.h"
#include "db/sqlite_table.h"
#include "db/sqlite_time.h"

namespace outbox {
namespace {

using db::Sqlite;
using db::SqliteRows;

class SqliteSource final : public Source {
 public:
  SqliteSource(const std::string& url, TableMapping mapping, std::shared_ptr<db::LastRead> last_read)
      : name_(config::sqlite_file(url)),
        mapping_(std::move(mapping)),
        last_read_(last_read ? std::move(last_read) : std::make_shared<db::LastRead>()) {}

  Result<void> open(const Position& start) override;
  Result<Page> fetch(std::size_t max_records, std::size_t max_bytes) override;
  bool repeats() const override { return false; }

 private:
  Result<void> connect();
  Result<bool> anything_new();
  Result<Page> read_page(std::size_t max_records, std::size_t max_bytes);
  Failure changed_hands() const;
  std::shared_ptr<const Record> read(const SqliteRows& row, Time now) const;
  void warn_of_time(std::int64_t seq, const char* field) const;

  std::string name_;
  TableMapping mapping_;
  std::shared_ptr<db::LastRead> last_read_;
  std::optional<Sqlite> file_;
  bool noted_ = false;  // the table's notes were logged
  db::SqliteTable table_;
  std::string select_;
  db::ReadRow cursor_;  // the last row that was read
  std::optional<std::int64_t> seen_version_;
};

Result<void> SqliteSource::connect() {
  if (mapping_.sent_given && mapping_.sent != SentMode::keep) {
    return Failure{FailureKind::invalid,
                   "outbox.sent: mark and delete are not there on SQLite, where a write per message would fail the "
                   "application's own transactions; use keep"};
  }
  auto opened = db::open_application(name_, Sqlite::Mode::read);
  if (!opened) return opened.failure();
  auto table = db::inspect_table(*opened, mapping_.table, mapping_.columns, mapping_.constants);
  if (!table) return table.failure();
  table_ = std::move(*table);
  for (const auto& note : table_.notes) {
    if (!noted_) log::warn("what this table cannot promise", {{"note", note}});
  }
  select_ = fmt::format(
      "SELECT {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {} FROM {} WHERE {} > ? ORDER BY {} LIMIT ?", table_.seq,
      table_.column("id"), table_.column("aggregate_type"), table_.column("aggregate_id"), table_.column("type"),
      table_.column("payload"), table_.column("headers"), table_.column("traceparent"), table_.column("created_at"),
      table_.column("not_before"), table_.column("aggregate_version"), table_.column("schema_version"), table_.name,
      table_.seq, table_.seq);
  noted_ = true;
  file_.emplace(std::move(*opened));
  return {};
}

Result<void> SqliteSource::open(const Position& start) {
  file_.reset();
  seen_version_.reset();
  if (auto connected = connect(); !connected) return connected;
  cursor_ = last_read_->get();
  if (cursor_.seq != start.seq) {  // a store that has just taken over would have noted the row itself
    auto id = db::message_at(*file_, table_, start.seq);
    if (!id) return id.failure();
    cursor_ = {start.seq, std::move(*id)};
    last_read_->set(cursor_);
  }
  return {};
}

// Reads the version before the page: a commit in between is then seen by the next fetch, too.
Result<bool> SqliteSource::anything_new() {
  auto version = file_->integer("PRAGMA data_version");
  if (!version) return version.failure();
  if (seen_version_ && *version == *seen_version_) return false;
  seen_version_ = *version;
  return true;
}

Result<Page> SqliteSource::fetch(std::size_t max_records, std::size_t max_bytes) {
  if (!file_) return Failure{FailureKind::unavailable, "sqlite: the source is not open"};
  if (file_->replaced()) return changed_hands();
  auto fresh = anything_new();
  if (!fresh) return fresh.failure();
  if (!*fresh) {
    Page nothing;
    nothing.database_now = db::sqlite_now();
    return nothing;
  }
  const db::ReadRow before = cursor_;
  auto page = read_page(max_records, max_bytes);
  if (!page) return page;
  // After the page: one that was read from a restored file is then found out, however soon it grew again.
  auto stands = db::stands(*file_, table_, before);
  if (!stands) return stands.failure();
  if (!*stands) return changed_hands();
  last_read_->set(cursor_);
  return page;
}

Failure SqliteSource::changed_hands() const {
  return {FailureKind::unavailable,
          fmt::format("sqlite {}: the file was restored, replaced or removed; what stands there is taken over anew",
                      name_)};
}

Result<Page> SqliteSource::read_page(std::size_t max_records, std::size_t max_bytes) {
  Page page;
  page.database_now = db::sqlite_now();
  auto rows = file_->query(select_, {cursor_.seq, static_cast<std::int64_t>(max_records)});
  if (!rows) return rows.failure();
  std::size_t bytes = 0;
  while (bytes < max_bytes || page.records.empty()) {
    auto row = rows->next();
    if (!row) return row.failure();
    if (!*row) break;
    cursor_ = {rows->integer(0), rows->null(1) ? std::nullopt : std::optional(std::string(rows->text(1)))};
    page.records.push_back(read(*rows, page.database_now));
    bytes += page.records.back()->bytes();
  }
  page.full = page.records.size() == max_records || bytes >= max_bytes;
  if (page.full) seen_version_.reset();
  return page;
}

RecordPtr SqliteSource::read(const SqliteRows& row, Time now) const {
  auto record = std::make_shared<Record>();
  record->seq = row.integer(0);
  // A table of somebody else's may let NULL in. Its row number is unique, and stays.
  record->id = row.null(1) ? fmt::format("{}-{}", mapping_.table, record->seq) : std::string(row.text(1));
  record->aggregate_type = row.text(2);
  record->aggregate_id = row.text(3);
  record->type = row.text(4);
  record->key = make_key(record->aggregate_type, record->aggregate_id);
  record->payload_null = row.null(5);
  record->payload_json = row.type(5) != SqliteRows::Type::blob;
  record->payload = row.text(5);
  record->headers = row.text(6);
  record->traceparent = row.text(7);
  const auto created = db::read_sqlite_time(row, 8);
  if (!created && !row.null(8)) warn_of_time(record->seq, "created_at");
  record->created_at = created.value_or(now);
  record->not_before = db::read_sqlite_time(row, 9);
  if (!record->not_before && !row.null(9)) warn_of_time(record->seq, "not_before");
  if (!row.null(10)) record->aggregate_version = row.integer(10);
  if (!row.null(11)) record->schema_version = static_cast<std::int32_t>(row.integer(11));
  return record;
}

void SqliteSource::warn_of_time(std::int64_t seq, const char* field) const {
  log::every(10s, "sqlite_time:" + mapping_.table + field, log::Level::warn, "a time that cannot be read is left out",
             {{"table", mapping_.table}, {"field", field}, {"seq", std::to_string(seq)}});
}

}  // namespace

std::unique_ptr<Source> make_sqlite_source(const std::string& url, const TableMapping& mapping,
                                           std::shared_ptr<db::LastRead> last_read) {
  return std::make_unique<SqliteSource>(url, mapping, std::move(last_read));
}

}  // namespace outbox
