#include "db/sqlite.h"

#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace outbox::db {
namespace {

FailureKind kind_of(int code) {
  switch (code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_PROTOCOL:
    case SQLITE_SCHEMA:
    case SQLITE_INTERRUPT: return FailureKind::unavailable;
    case SQLITE_FULL:
    case SQLITE_IOERR:
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
    case SQLITE_NOLFS:
    case SQLITE_NOMEM: return FailureKind::local;
    default: return FailureKind::invalid;
  }
}

std::string_view advice(int code) {
  if (code == SQLITE_IOERR_SHMSIZE) code = SQLITE_FULL;  // what a full disk says to whoever opens a file in WAL mode
  switch (code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED: return "another connection holds its lock; it is tried again";
    case SQLITE_FULL: return "free space on that disk; nothing was written and nothing is lost, it is tried again";
    case SQLITE_IOERR: return "look at the disk and the kernel's log; nothing was settled, it is tried again";
    case SQLITE_READONLY:
    case SQLITE_PERM: return "give this user the right to write the file and its folder";
    case SQLITE_CANTOPEN: return "the file does not exist or this user may not open it; check the path and the rights";
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB: return "the file is damaged or no SQLite database; restore it";
    default: return "";
  }
}

Failure make_failure(const std::string& file, int code, std::string_view message) {
  const auto hint = advice(code);
  return {kind_of(code), fmt::format("sqlite {}: {}{}{}", file, message, hint.empty() ? "" : "; ", hint)};
}

int bind_one(sqlite3_stmt* statement, int index, const SqliteValue& value, sqlite3_destructor_type life) {
  // A null pointer would bind NULL: empty text and an empty blob are values.
  const auto pointer = [](std::string_view text) { return text.data() == nullptr ? "" : text.data(); };
  const auto& held = value.get();
  if (const auto* number = std::get_if<std::int64_t>(&held)) return sqlite3_bind_int64(statement, index, *number);
  if (const auto* text = std::get_if<std::string_view>(&held)) {
    return sqlite3_bind_text64(statement, index, pointer(*text), text->size(), life, SQLITE_UTF8);
  }
  if (const auto* blob = std::get_if<Blob>(&held)) {
    return sqlite3_bind_blob64(statement, index, pointer(blob->bytes), blob->bytes.size(), life);
  }
  return sqlite3_bind_null(statement, index);
}

}  // namespace

Time sqlite_now() { return std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now()); }

SqliteRows::SqliteRows(SqliteRows&& other) noexcept
    : owner_(other.owner_), statement_(std::exchange(other.statement_, nullptr)) {}

SqliteRows::~SqliteRows() {
  if (statement_ != nullptr) sqlite3_reset(statement_);
}

Result<bool> SqliteRows::next() {
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return owner_->failure();
}

SqliteRows::Type SqliteRows::type(int column) const {
  switch (sqlite3_column_type(statement_, column)) {
    case SQLITE_INTEGER: return Type::integer;
    case SQLITE_FLOAT: return Type::real;
    case SQLITE_TEXT: return Type::text;
    case SQLITE_BLOB: return Type::blob;
    default: return Type::null;
  }
}

std::int64_t SqliteRows::integer(int column) const { return sqlite3_column_int64(statement_, column); }

double SqliteRows::real(int column) const { return sqlite3_column_double(statement_, column); }

std::string_view SqliteRows::text(int column) const {
  const void* data = type(column) == Type::blob ? sqlite3_column_blob(statement_, column)
                                                : static_cast<const void*>(sqlite3_column_text(statement_, column));
  if (data == nullptr) return {};
  return {static_cast<const char*>(data), static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
}

Result<Sqlite> Sqlite::open(const std::string& file, Mode mode, Duration busy) {
  Sqlite connection(file);
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | (mode == Mode::create ? SQLITE_OPEN_CREATE : 0);
  const int code = sqlite3_open_v2(file.c_str(), &connection.handle_, flags, nullptr);
  if (code != SQLITE_OK && mode != Mode::create && ::access(file.c_str(), F_OK) != 0 && errno == ENOENT) {
    return Failure{kind_of(code), fmt::format("sqlite {0}: the file does not exist; make it with outboxd init "
                                              "--database sqlite:{0}, or correct the path",
                                              file)};
  }
  if (code != SQLITE_OK) {
    return make_failure(file, code, connection.handle_ ? sqlite3_errmsg(connection.handle_) : "out of memory");
  }
  sqlite3_extended_result_codes(connection.handle_, 1);
  sqlite3_busy_timeout(connection.handle_,
                       static_cast<int>(std::chrono::duration_cast<std::chrono::milliseconds>(busy).count()));
  connection.remember_inode();
  auto prepared = connection.script(mode == Mode::read ? "PRAGMA query_only=ON"
                                                       : "PRAGMA synchronous=FULL; PRAGMA foreign_keys=ON");
  if (!prepared) return prepared.failure();
  return connection;
}

Sqlite::Sqlite(Sqlite&& other) noexcept
    : file_(std::move(other.file_)),
      handle_(std::exchange(other.handle_, nullptr)),
      device_(other.device_),
      inode_(other.inode_),
      statements_(std::exchange(other.statements_, {})) {}

Sqlite::~Sqlite() {
  for (const auto& [sql, statement] : statements_) sqlite3_finalize(statement);
  sqlite3_close(handle_);
}

void Sqlite::remember_inode() {
  struct stat info {};
  if (::stat(file_.c_str(), &info) != 0) return;
  device_ = info.st_dev;
  inode_ = info.st_ino;
}

bool Sqlite::replaced() const {
  struct stat info {};
  return ::stat(file_.c_str(), &info) != 0 || info.st_dev != device_ || info.st_ino != inode_;
}

Failure Sqlite::failure() const {
  return make_failure(file_, sqlite3_extended_errcode(handle_), sqlite3_errmsg(handle_));
}

Result<void> Sqlite::script(const std::string& sql) {
  if (sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) return failure();
  return {};
}

Result<sqlite3_stmt*> Sqlite::prepared(const std::string& sql, SqliteValues values, bool copy) {
  auto found = statements_.find(sql);
  if (found == statements_.end()) {
    sqlite3_stmt* made = nullptr;
    const auto size = static_cast<int>(sql.size());
    if (sqlite3_prepare_v3(handle_, sql.c_str(), size, SQLITE_PREPARE_PERSISTENT, &made, nullptr) != SQLITE_OK) {
      return failure();
    }
    found = statements_.emplace(sql, made).first;
  }
  int index = 0;
  for (const auto& value : values) {
    if (bind_one(found->second, ++index, value, copy ? SQLITE_TRANSIENT : SQLITE_STATIC) != SQLITE_OK) {
      return failure();
    }
  }
  return found->second;
}

Result<std::int64_t> Sqlite::run(const std::string& sql, SqliteValues values) {
  auto statement = prepared(sql, values, false);
  if (!statement) return statement.failure();
  int code = SQLITE_ROW;
  while (code == SQLITE_ROW) code = sqlite3_step(*statement);
  // Taken before the reset, which forgets it.
  if (code != SQLITE_DONE) {
    auto failed = failure();
    sqlite3_reset(*statement);
    return failed;
  }
  sqlite3_reset(*statement);
  sqlite3_clear_bindings(*statement);
  return std::int64_t{sqlite3_changes64(handle_)};
}

Result<SqliteRows> Sqlite::query(const std::string& sql, SqliteValues values) {
  auto statement = prepared(sql, values, true);
  if (!statement) return statement.failure();
  return SqliteRows(this, *statement);
}

Result<std::optional<std::int64_t>> Sqlite::integer(const std::string& sql, SqliteValues values) {
  auto rows = query(sql, values);
  if (!rows) return rows.failure();
  auto row = rows->next();
  if (!row) return row.failure();
  if (!*row || rows->null(0)) return std::optional<std::int64_t>{};
  return std::optional{rows->integer(0)};
}

Result<std::optional<std::string>> Sqlite::text(const std::string& sql, SqliteValues values) {
  auto rows = query(sql, values);
  if (!rows) return rows.failure();
  auto row = rows->next();
  if (!row) return row.failure();
  if (!*row || rows->null(0)) return std::optional<std::string>{};
  return std::optional{std::string(rows->text(0))};
}

Result<SqliteTransaction> SqliteTransaction::begin(Sqlite& connection) {
  auto begun = connection.run("BEGIN IMMEDIATE");
  if (!begun) return begun.failure();
  return SqliteTransaction(connection);
}

SqliteTransaction::~SqliteTransaction() {
  // A failed statement may have rolled back by itself (disk full); then there is nothing left to do.
  if (connection_ == nullptr || sqlite3_get_autocommit(connection_->handle()) != 0) return;
  sqlite3_exec(connection_->handle(), "ROLLBACK", nullptr, nullptr, nullptr);
}

Result<void> SqliteTransaction::commit() {
  auto done = connection_->run("COMMIT");
  if (!done) return done.failure();
  connection_ = nullptr;
  return {};
}

}  // namespace outbox::db
