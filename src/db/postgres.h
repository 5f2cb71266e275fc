// A connection to PostgreSQL: thin RAII over libpq, errors as values. Only postgres.cc knows libpq.
//
// Thread: one at a time. Calls block until the server has answered, at most ConnectOptions::answer_timeout; then the
// connection is given up and the call fails `unavailable`. After a failure broken() says whether to open a new one.
//
// The URL may hold a password: a Failure names host, port and database only. SQLSTATE classes 08, 40, 53, 57 and
// 55P03, 25006 are `unavailable`; 28 and 42501 are `refused`; everything else is `invalid`.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/time.h"

struct pg_conn;
struct pg_result;

namespace outbox::db {

// A parameter, always passed as text; nullopt is NULL. Casts in the SQL say what type it is.
using PgValue = std::optional<std::string>;
using PgValues = std::vector<PgValue>;

// The rows that a statement returned. Columns are text, or binary where they were asked for in binary.
class PgRows {
 public:
  explicit PgRows(pg_result* owned);
  int size() const;
  bool empty() const { return size() == 0; }
  std::int64_t affected() const;  // rows changed by INSERT, UPDATE, DELETE

  bool null(int row, int column) const;
  std::string_view bytes(int row, int column) const;  // lives as long as this object
  std::string text(int row, int column) const { return std::string(bytes(row, column)); }
  std::int64_t integer(int row, int column) const;  // of the text form
  bool flag(int row, int column) const { return bytes(row, column) == "t"; }

 private:
  struct Clear {
    void operator()(pg_result* result) const;
  };
  std::unique_ptr<pg_result, Clear> result_;
};

struct PgConnectOptions {
  std::string application_name = "outboxd";
  std::chrono::seconds connect_timeout{10};
  std::chrono::seconds answer_timeout{60};
};

class PgConnection {
 public:
  // Sets UTF-8, keepalives and a TCP user time-out where the URL does not say otherwise.
  static Result<std::unique_ptr<PgConnection>> open(const std::string& url, const PgConnectOptions& options = {});
  ~PgConnection();
  PgConnection(const PgConnection&) = delete;
  PgConnection& operator=(const PgConnection&) = delete;

  // Lost, or of no use any more: another one may be better. A session that began read-only stays so.
  bool broken() const;
  bool in_transaction() const;
  int server_version() const;  // 150020
  // A pooler stands before the server, so nothing may be left in the session. Asks the server once.
  Result<bool> pooled();
  void set_answer_timeout(std::chrono::seconds timeout) { answer_timeout_ = timeout; }

  // Statements without parameters, separated by semicolons; several of them are one transaction.
  Result<PgRows> run(const std::string& sql);
  // One statement with $1, $2, …; unnamed, so it works behind a transaction pooler.
  Result<PgRows> query(const std::string& sql, const PgValues& values);
  // The same of a statement that comes again and again with other values: parsed once and kept by the server for the
  // life of this connection, where no pooler forbids it. For a bounded number of texts.
  Result<PgRows> query_often(const std::string& sql, const PgValues& values);

  // A statement kept by the server under a name for the life of this connection.
  Result<void> prepare(const std::string& name, const std::string& sql);
  // Runs a prepared statement and hands its rows over one by one, in binary form, as they arrive. When `row` returns
  // false the statement is cancelled and the rest dropped. `row` gets a one-row PgRows.
  Result<void> stream(const std::string& name, const PgValues& values, const std::function<bool(const PgRows&)>& row);
  // The same of one statement that was not prepared.
  Result<void> stream_unnamed(const std::string& sql, const PgValues& values,
                              const std::function<bool(const PgRows&)>& row);

 private:
  PgConnection(pg_conn* connection, std::string where, std::chrono::seconds answer_timeout);
  Failure failed(const pg_result* result);
  Failure gave_up();
  Result<void> begin();  // of each statement: is there a connection, and until when is its answer awaited
  Result<void> flush();
  Result<void> await();  // until the next result can be fetched without blocking
  Result<PgRows> finish(bool sent);
  Result<void> hand_over(bool sent, const std::function<bool(const PgRows&)>& row);
  void cancel();

  pg_conn* connection_;
  std::string where_;
  std::chrono::seconds answer_timeout_;
  std::chrono::steady_clock::time_point deadline_{};
  bool read_only_ = false;  // for its life, whatever becomes of the server's setting
  std::optional<bool> pooled_;
  std::map<std::string, std::string> kept_;  // by its text: the name of a prepared statement
};

// BEGIN … COMMIT as a scope: rolled back unless commit() succeeded.
class PgTransaction {
 public:
  static Result<PgTransaction> begin(PgConnection& connection);
  PgTransaction(PgTransaction&& other) noexcept : connection_(std::exchange(other.connection_, nullptr)) {}
  PgTransaction& operator=(PgTransaction&&) = delete;
  ~PgTransaction();
  Result<void> commit();

 private:
  explicit PgTransaction(PgConnection& connection) : connection_(&connection) {}
  PgConnection* connection_;
};

// "host:port/database" of a URL, for messages. Never fails: what cannot be read is left out.
std::string pg_address(const std::string& url);

std::string pg_identifier(std::string_view name);          // orders → "orders"
std::string pg_literal(std::string_view text);             // Smith's → 'Smith''s'
std::string pg_qualified(std::string_view name);           // shop.orders → "shop"."orders"
std::string pg_array(const std::vector<PgValue>& values);  // {"a","b",NULL}
std::string pg_bytea(std::string_view bytes);              // \x00ff
std::string pg_from_hex(std::string_view digits);          // of encode(…, 'hex')
std::string pg_time(Time time);                            // 2026-11-30 08:00:00.000001+00; kNever: infinity

std::vector<std::int64_t> pg_integers(std::string_view text);  // separated by spaces

// Binary forms.
std::int64_t pg_int64(std::string_view bytes);
std::int32_t pg_int32(std::string_view bytes);
Time pg_timestamp(std::string_view bytes);  // infinity: kNever

}  // namespace outbox::db
