// Thin RAII over SQLite: a connection with cached statements, rows, and a write transaction.
//
// Thread: one at a time per connection. Any call may block: for the disk, and up to the busy time-out for another
// connection's lock. Failures name the file and what to do; `unavailable` (busy, locked) may succeed when repeated,
// `local` is this machine's fault (disk full, no permission), `invalid` is the file's or the schema's.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "base/result.h"
#include "base/time.h"

struct sqlite3;
struct sqlite3_stmt;

namespace outbox::db {

// The machine's clock, which is the database's here, too.
Time sqlite_now();

struct Blob {
  std::string_view bytes;
};

// A parameter. Text and bytes are only looked at, never owned.
class SqliteValue {
 public:
  SqliteValue(std::nullptr_t) {}
  SqliteValue(int value) : value_(std::int64_t{value}) {}
  SqliteValue(std::int64_t value) : value_(value) {}
  SqliteValue(const std::string& text) : value_(std::string_view(text)) {}
  SqliteValue(std::string_view text) : value_(text) {}
  SqliteValue(const char* text) : value_(std::string_view(text)) {}
  SqliteValue(Blob blob) : value_(blob) {}
  SqliteValue(Time time) : value_(std::int64_t{time.time_since_epoch().count()}) {}
  template <class T>
  SqliteValue(const std::optional<T>& value) {
    if (value) *this = SqliteValue(*value);
  }

  const auto& get() const { return value_; }

 private:
  std::variant<std::monostate, std::int64_t, std::string_view, Blob> value_;
};
using SqliteValues = std::initializer_list<SqliteValue>;

// The rows of one query. While it lives the connection may hold a read transaction: let it go soon.
class SqliteRows {
 public:
  SqliteRows(SqliteRows&& other) noexcept;
  SqliteRows& operator=(SqliteRows&&) = delete;
  ~SqliteRows();

  // True: a row is there. False: the end.
  Result<bool> next();

  enum class Type { null, integer, real, text, blob };
  Type type(int column) const;
  bool null(int column) const { return type(column) == Type::null; }
  std::int64_t integer(int column) const;
  double real(int column) const;
  Time time(int column) const { return Time(Duration(integer(column))); }
  // Text, or a blob's bytes, or a number as SQLite prints it. Valid until the next next().
  std::string_view text(int column) const;

 private:
  friend class Sqlite;
  SqliteRows(const class Sqlite* owner, sqlite3_stmt* statement) : owner_(owner), statement_(statement) {}

  const Sqlite* owner_;
  sqlite3_stmt* statement_;
};

class Sqlite {
 public:
  enum class Mode {
    read,   // of a file that exists; writes fail
    write,  // of a file that exists
    create  // the file is made when it is missing
  };

  // Waits up to `busy` for locks. synchronous=FULL. Does not touch the journal mode.
  static Result<Sqlite> open(const std::string& file, Mode mode, Duration busy = 5s);

  Sqlite(Sqlite&& other) noexcept;
  Sqlite& operator=(Sqlite&&) = delete;
  ~Sqlite();

  const std::string& file() const { return file_; }
  sqlite3* handle() const { return handle_; }

  // One or several statements without parameters or rows.
  Result<void> script(const std::string& sql);
  // One statement; its preparation is kept for the next time. Returns the number of changed rows.
  Result<std::int64_t> run(const std::string& sql, SqliteValues values = {});
  Result<SqliteRows> query(const std::string& sql, SqliteValues values = {});
  // First column of the first row; nothing if there is no row or it is NULL.
  Result<std::optional<std::int64_t>> integer(const std::string& sql, SqliteValues values = {});
  Result<std::optional<std::string>> text(const std::string& sql, SqliteValues values = {});

  // True once another file (or none) stands under the name: the open one is then a ghost that nobody else writes.
  bool replaced() const;
  // Device and inode of the file that was opened.
  using Identity = std::pair<std::uint64_t, std::uint64_t>;
  Identity identity() const { return {device_, inode_}; }

  // The failure of the call that has just failed.
  Failure failure() const;

 private:
  explicit Sqlite(std::string file) : file_(std::move(file)) {}
  Result<sqlite3_stmt*> prepared(const std::string& sql, SqliteValues values, bool copy);
  void remember_inode();

  std::string file_;
  sqlite3* handle_ = nullptr;
  std::uint64_t device_ = 0;
  std::uint64_t inode_ = 0;
  std::map<std::string, sqlite3_stmt*, std::less<>> statements_;
};

// BEGIN IMMEDIATE: the write lock is taken at once, so that a statement inside never fails for want of it. Rolled back
// unless committed.
class SqliteTransaction {
 public:
  static Result<SqliteTransaction> begin(Sqlite& connection);
  SqliteTransaction(SqliteTransaction&& other) noexcept : connection_(std::exchange(other.connection_, nullptr)) {}
  SqliteTransaction& operator=(SqliteTransaction&&) = delete;
  ~SqliteTransaction();

  Result<void> commit();

 private:
  explicit SqliteTransaction(Sqlite& connection) : connection_(&connection) {}

  Sqlite* connection_;
};

}  // namespace outbox::db
