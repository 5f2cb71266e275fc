#include <sqlite3.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "client/checked_message.h"
#include "client/table_name.h"
#include "client/utc_text.h"
#include "client/uuid.h"
#include "outbox/error.h"
#include "outbox/sqlite.h"

namespace outbox {
namespace {

[[noreturn]] void fail(sqlite3* database) {
  const int code = sqlite3_extended_errcode(database);
  const std::string what = std::string("enqueue failed: ") + sqlite3_errmsg(database);
  // A full disk or an I/O error may have rolled the transaction back.
  const bool rolled_back = sqlite3_get_autocommit(database) != 0;
  if (code == SQLITE_BUSY_SNAPSHOT) {
    throw Error(what +
                    ": somebody else has written since this transaction read: roll back and retry the whole "
                    "transaction, with BEGIN IMMEDIATE",
                {}, true, true);
  }
  if ((code & 0xff) == SQLITE_BUSY || (code & 0xff) == SQLITE_LOCKED) {
    throw Error(what +
                    ": another writer holds the lock: retry the transaction, with BEGIN IMMEDIATE and a busy "
                    "time-out",
                {}, true, rolled_back);
  }
  throw Error(what + (rolled_back ? ": SQLite has rolled the transaction back" : ""), {}, false, rolled_back);
}

void execute(sqlite3* database, const char* sql) {
  if (sqlite3_exec(database, sql, nullptr, nullptr, nullptr) != SQLITE_OK) fail(database);
}

// Several messages are stored together or not at all, without an end of the caller's transaction.
class Together {
 public:
  explicit Together(sqlite3* database) : database_(database) { execute(database, "SAVEPOINT outbox_enqueue"); }
  ~Together() {
    if (done_ || sqlite3_get_autocommit(database_) != 0) return;
    sqlite3_exec(database_, "ROLLBACK TO outbox_enqueue; RELEASE outbox_enqueue", nullptr, nullptr, nullptr);
  }
  Together(const Together&) = delete;
  Together& operator=(const Together&) = delete;
  void done() {
    execute(database_, "RELEASE outbox_enqueue");
    done_ = true;
  }

 private:
  sqlite3* database_;
  bool done_ = false;
};

class Insert {
 public:
  Insert(sqlite3* database, const client::TableName& table)
      : database_(database), statement_(nullptr, &sqlite3_finalize) {
    const std::string sql = "insert into " + quoted(table) +
                            " (id, aggregatetype, aggregateid, type, payload, headers, aggregate_version,"
                            " schema_version, traceparent, not_before) values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)"
                            " on conflict (id) do nothing";
    sqlite3_stmt* statement = nullptr;
    if (sqlite3_prepare_v2(database, sql.c_str(), -1, &statement, nullptr) != SQLITE_OK) fail(database);
    statement_.reset(statement);
  }

  Enqueued run(const client::CheckedMessage& checked) {
    const Message& message = *checked.message;
    std::string id = client::uuid_text(checked.id);
    text(1, id);
    text(2, message.aggregate_type);
    text(3, message.aggregate_id);
    text(4, message.type);
    payload(5, message);
    text(6, checked.headers);
    integer(7, message.aggregate_version);
    integer(8, message.schema_version);
    if (message.traceparent.empty()) {
      require(sqlite3_bind_null(statement_.get(), 9));
    } else {
      text(9, message.traceparent);
    }
    const std::string due = message.not_before ? client::utc_text(*message.not_before) : "";
    if (message.not_before) {
      text(10, due);
    } else {
      require(sqlite3_bind_null(statement_.get(), 10));
    }
    require(sqlite3_step(statement_.get()), SQLITE_DONE);
    const bool duplicate = sqlite3_changes(database_) == 0;
    require(sqlite3_reset(statement_.get()));
    return {std::move(id), duplicate};
  }

 private:
  void require(int code, int expected = SQLITE_OK) {
    if (code != expected) fail(database_);
  }
  void text(int index, std::string_view value) {
    require(sqlite3_bind_text64(statement_.get(), index, value.data(), value.size(), SQLITE_STATIC, SQLITE_UTF8));
  }
  void payload(int index, const Message& message) {
    if (!message.payload_is_bytes) return text(index, message.payload);
    require(
        sqlite3_bind_blob64(statement_.get(), index, message.payload.data(), message.payload.size(), SQLITE_STATIC));
  }
  template <class Integer>
  void integer(int index, const std::optional<Integer>& value) {
    require(value ? sqlite3_bind_int64(statement_.get(), index, *value) : sqlite3_bind_null(statement_.get(), index));
  }

  sqlite3* database_;
  std::unique_ptr<sqlite3_stmt, decltype(&sqlite3_finalize)> statement_;
};

}  // namespace

std::vector<Enqueued> enqueue(sqlite3* database, std::span<const Message> messages, const EnqueueOptions& options) {
  if (sqlite3_get_autocommit(database) != 0) {
    client::refuse("no transaction is open: BEGIN IMMEDIATE, write the business data and the message, then COMMIT");
  }
  const client::TableName table = client::parse_table_name(options.table);
  const std::vector<client::CheckedMessage> checked = client::check_messages(messages, options);
  if (checked.empty()) return {};

  const sqlite3_int64 last_row = sqlite3_last_insert_rowid(database);
  std::vector<Enqueued> results;
  results.reserve(checked.size());
  std::optional<Together> together;
  if (checked.size() > 1) together.emplace(database);
  Insert insert(database, table);
  for (const client::CheckedMessage& message : checked) results.push_back(insert.run(message));
  if (together) together->done();
  sqlite3_set_last_insert_rowid(database, last_row);
  return results;
}

Enqueued enqueue(sqlite3* database, const Message& message, const EnqueueOptions& options) {
  return enqueue(database, std::span(&message, 1), options).front();
}

}  // namespace outbox
