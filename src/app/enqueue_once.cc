#include "app/enqueue_once.h"

#include <fmt/format.h>
#include <libpq-fe.h>
#include <sqlite3.h>

#include <memory>

#include "config/database_url.h"
#include "db/postgres.h"
#include "outbox/postgres.h"
#include "outbox/sqlite.h"

namespace outbox::app {

namespace {

constexpr int kBusyMilliseconds = 5000;

struct CloseConnection {
  void operator()(PGconn* connection) const { PQfinish(connection); }
  void operator()(sqlite3* database) const { sqlite3_close(database); }
};
using PgHandle = std::unique_ptr<PGconn, CloseConnection>;
using SqliteHandle = std::unique_ptr<sqlite3, CloseConnection>;

Failure to_failure(const Error& error, const std::string& where) {
  const std::string& state = error.sql_state();
  FailureKind kind = FailureKind::invalid;
  if (error.retryable() || state.starts_with("08") || state.starts_with("53") || state.starts_with("57")) {
    kind = FailureKind::unavailable;
  } else if (state.starts_with("28") || state == "42501") {
    kind = FailureKind::refused;
  }
  return {kind, fmt::format("{}: {}", where, error.what())};
}

Failure in_doubt(const std::string& where, const std::string& id, const char* what) {
  return {FailureKind::unavailable,
          fmt::format("{}: COMMIT was not answered ({}); send again with --id {}: it is stored once", where, what, id)};
}

// An answer with SQLSTATE is a refusal, a lost connection is none.
Result<void> run(PGconn* connection, const char* sql, const std::string& where) {
  PGresult* result = PQexec(connection, sql);
  const bool good = PQresultStatus(result) == PGRES_COMMAND_OK;
  PQclear(result);
  if (good) return {};
  return Failure{FailureKind::unavailable, fmt::format("{}: {}: {}", where, sql, PQerrorMessage(connection))};
}

Result<Enqueued> enqueue_postgres(const std::string& url, const Message& message, const EnqueueOptions& options) {
  const std::string where = config::printable_database(url);
  if (db::pg_address(url).empty()) {  // libpq's own words would quote it
    return Failure{FailureKind::invalid, where + ": libpq does not know one of the URL's parameters; correct the URL"};
  }
  const char* const names[] = {"dbname", "connect_timeout", "application_name", nullptr};
  const char* const values[] = {url.c_str(), "10", "outboxd send", nullptr};
  const PgHandle connection(PQconnectdbParams(names, values, 1));
  if (PQstatus(connection.get()) != CONNECTION_OK) {
    const bool credentials =
        PQconnectionNeedsPassword(connection.get()) != 0 ||
        std::string_view(PQerrorMessage(connection.get())).find("authentication") != std::string_view::npos;
    return Failure{credentials ? FailureKind::refused : FailureKind::unavailable,
                   fmt::format("{}: {}", where, PQerrorMessage(connection.get()))};
  }
  if (auto begun = run(connection.get(), "BEGIN", where); !begun) return begun.failure();
  Enqueued done;
  try {
    done = enqueue(connection.get(), message, options);
  } catch (const Error& error) {
    return to_failure(error, where);
  }
  if (auto committed = run(connection.get(), "COMMIT", where); !committed) {
    if (PQstatus(connection.get()) == CONNECTION_OK) return committed.failure();
    return in_doubt(where, done.id, "the connection is gone");
  }
  return done;
}

Failure sqlite_failure(sqlite3* database, const std::string& file) {
  const int code = sqlite3_errcode(database) & 0xff;
  const FailureKind kind = code == SQLITE_BUSY || code == SQLITE_LOCKED      ? FailureKind::unavailable
                           : code == SQLITE_NOTADB || code == SQLITE_CORRUPT ? FailureKind::invalid
                                                                             : FailureKind::local;
  return {kind, fmt::format("{}: {}", file, sqlite3_errmsg(database))};
}

Result<Enqueued> enqueue_sqlite(const std::string& url, const Message& message, const EnqueueOptions& options) {
  const std::string file = config::sqlite_file(url);
  sqlite3* opened = nullptr;
  const int code = sqlite3_open_v2(file.c_str(), &opened, SQLITE_OPEN_READWRITE, nullptr);
  const SqliteHandle database(opened);
  if (code != SQLITE_OK) return sqlite_failure(database.get(), file);
  sqlite3_busy_timeout(database.get(), kBusyMilliseconds);
  if (sqlite3_exec(database.get(), "PRAGMA synchronous=FULL; BEGIN IMMEDIATE", nullptr, nullptr, nullptr) !=
      SQLITE_OK) {
    return sqlite_failure(database.get(), file);
  }
  Enqueued done;
  try {
    done = enqueue(database.get(), message, options);
  } catch (const Error& error) {
    return to_failure(error, file);
  }
  if (sqlite3_exec(database.get(), "COMMIT", nullptr, nullptr, nullptr) != SQLITE_OK) {
    return sqlite_failure(database.get(), file);
  }
  return done;
}

}  // namespace

Result<Enqueued> enqueue_once(const std::string& database_url, const std::string& table, const Message& message) {
  const auto kind = config::database_kind(database_url);
  if (!kind) return kind.failure();
  EnqueueOptions options;
  options.table = table;
  if (*kind == config::DatabaseKind::postgresql) return enqueue_postgres(database_url, message, options);
  return enqueue_sqlite(database_url, message, options);
}

}  // namespace outbox::app
