#include "db/postgres.h"

#include <libpq-fe.h>
#include <poll.h>

#include <array>
#include <charconv>
#include <utility>

namespace outbox::db {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int64_t kPostgresEpoch = 946'684'800'000'000;  // 2000-01-01 in microseconds since 1970

// The server's last 29 years do not fit into microseconds since 1970.
constexpr Time kLatest = Time::max() - Duration(1);

constexpr std::string_view kReadOnly = "25006";

FailureKind kind_of(std::string_view sqlstate) {
  const auto in_class = [&](std::string_view prefix) { return sqlstate.substr(0, prefix.size()) == prefix; };
  if (sqlstate.empty() || sqlstate == "55P03" || sqlstate == kReadOnly) return FailureKind::unavailable;
  for (const auto* unavailable : {"08", "40", "53", "57"}) {
    if (in_class(unavailable)) return FailureKind::unavailable;
  }
  if (in_class("28") || sqlstate == "42501") return FailureKind::refused;
  return FailureKind::invalid;
}

std::string_view hint(FailureKind kind) {
  return kind == FailureKind::refused ? "; check user, password and privileges" : "";
}

std::string first_line(std::string_view text) {
  while (!text.empty() && text.front() == '\n') text.remove_prefix(1);
  return std::string(text.substr(0, text.find('\n')));
}

// A failed connect gives no result, hence no SQLSTATE but the one that the verbose message carries: "FATAL:  28P01: …".
Failure connect_failure(PGconn* connection, const std::string& where) {
  const std::string message = PQerrorMessage(connection);
  for (std::size_t at = message.find(":  "); at != std::string::npos; at = message.find(":  ", at + 1)) {
    const auto code = std::string_view(message).substr(at + 3, 5);
    if (code.size() == 5 && message.substr(at + 8, 2) == ": " &&
        code.find_first_not_of("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ") == std::string_view::npos) {
      const auto kind = kind_of(code);
      return {kind, "PostgreSQL at " + where + ": " + first_line(std::string_view(message).substr(at + 10)) + " (" +
                        std::string(code) + ")" + std::string(hint(kind))};
    }
  }
  return {FailureKind::unavailable, "PostgreSQL at " + where + ": " + first_line(message)};
}

int milliseconds_left(Clock::time_point deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
  return left <= 0 ? 0 : static_cast<int>(std::min<std::int64_t>(left, 3'600'000));
}

// False: the deadline has passed.
bool wait_socket(int socket, short events, Clock::time_point deadline) {
  for (;;) {
    const int left = milliseconds_left(deadline);
    if (left == 0) return false;
    pollfd ready{socket, events, 0};
    if (poll(&ready, 1, left) > 0) return true;
  }
}

bool wait_connected(PGconn* connection, Clock::time_point deadline) {
  for (auto state = PGRES_POLLING_WRITING; state != PGRES_POLLING_OK; state = PQconnectPoll(connection)) {
    if (state == PGRES_POLLING_FAILED) return true;
    const short events = state == PGRES_POLLING_READING ? POLLIN : POLLOUT;
    if (!wait_socket(PQsocket(connection), events, deadline)) return false;
  }
  return true;
}

std::vector<const char*> pointers(const PgValues& values) {
  std::vector<const char*> result;
  result.reserve(values.size());
  for (const auto& value : values) result.push_back(value ? value->c_str() : nullptr);
  return result;
}

template <class T>
T big_endian(std::string_view bytes) {
  OUTBOX_ASSERT(bytes.size() == sizeof(T));
  std::make_unsigned_t<T> value = 0;
  for (const char byte : bytes)
    value = static_cast<std::make_unsigned_t<T>>(value << 8 | static_cast<unsigned char>(byte));
  return static_cast<T>(value);
}

}  // namespace

PgRows::PgRows(pg_result* owned) : result_(owned) {}
void PgRows::Clear::operator()(pg_result* result) const { PQclear(result); }
int PgRows::size() const { return PQntuples(result_.get()); }
bool PgRows::null(int row, int column) const { return PQgetisnull(result_.get(), row, column) != 0; }

std::int64_t PgRows::affected() const {
  const std::string_view text = PQcmdTuples(result_.get());
  std::int64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

std::string_view PgRows::bytes(int row, int column) const {
  return {PQgetvalue(result_.get(), row, column), static_cast<std::size_t>(PQgetlength(result_.get(), row, column))};
}

std::int64_t PgRows::integer(int row, int column) const {
  const auto text = bytes(row, column);
  std::int64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

Result<std::unique_ptr<PgConnection>> PgConnection::open(const std::string& url, const PgConnectOptions& options) {
  const auto where = pg_address(url);
  // Later words win: ours before the URL are defaults, those after it are not open to choice.
  const std::array keywords{
      "fallback_application_name", "keepalives_idle", "keepalives_interval", "keepalives_count",
      "tcp_user_timeout",          "dbname",          "client_encoding",     static_cast<const char*>(nullptr)};
  const std::array values{options.application_name.c_str(), "10", "5", "3", "30000", url.c_str(), "UTF8",
                          static_cast<const char*>(nullptr)};
  PGconn* raw = PQconnectStartParams(keywords.data(), values.data(), 1);
  if (raw == nullptr) return Failure{FailureKind::local, "out of memory while connecting to PostgreSQL at " + where};
  std::unique_ptr<PgConnection> connection(new PgConnection(raw, where, options.answer_timeout));
  if (PQstatus(raw) == CONNECTION_BAD && PQsocket(raw) < 0 && where.empty()) {
    return Failure{FailureKind::invalid,
                   "the database URL cannot be read; write postgresql://user:password@host:port/database and "
                   "percent-encode special characters in user and password"};
  }
  PQsetNoticeProcessor(
      raw, [](void*, const char*) {}, nullptr);
  PQsetErrorVerbosity(raw, PQERRORS_VERBOSE);
  if (PQstatus(raw) != CONNECTION_BAD && !wait_connected(raw, Clock::now() + options.connect_timeout)) {
    return Failure{FailureKind::unavailable, "PostgreSQL at " + where + " did not answer within " +
                                                 std::to_string(options.connect_timeout.count()) + " s"};
  }
  if (PQstatus(raw) != CONNECTION_OK) return connect_failure(raw, where);
  if (PQsetnonblocking(raw, 1) != 0) return connect_failure(raw, where);
  return connection;
}

PgConnection::PgConnection(pg_conn* connection, std::string where, std::chrono::seconds answer_timeout)
    : connection_(connection), where_(std::move(where)), answer_timeout_(answer_timeout) {}

PgConnection::~PgConnection() { PQfinish(connection_); }

bool PgConnection::broken() const {
  return connection_ == nullptr || read_only_ || PQstatus(connection_) != CONNECTION_OK;
}
bool PgConnection::in_transaction() const { return PQtransactionStatus(connection_) != PQTRANS_IDLE; }
int PgConnection::server_version() const { return PQserverVersion(connection_); }

// A pooler makes up the process that it names at connecting.
Result<bool> PgConnection::pooled() {
  if (!pooled_) {
    auto server = run("select pg_backend_pid()");
    if (!server) return server.failure();
    pooled_ = server->integer(0, 0) != PQbackendPID(connection_);
  }
  return *pooled_;
}

Failure PgConnection::failed(const pg_result* result) {
  const char* code = result != nullptr ? PQresultErrorField(result, PG_DIAG_SQLSTATE) : nullptr;
  if (code == nullptr) {
    return {FailureKind::unavailable, "PostgreSQL at " + where_ + ": " + first_line(PQerrorMessage(connection_))};
  }
  const auto kind = kind_of(code);
  read_only_ = read_only_ || std::string_view(code) == kReadOnly;
  const char* primary = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
  return {kind, "PostgreSQL at " + where_ + ": " + first_line(primary != nullptr ? primary : "") + " (" + code + ")" +
                    std::string(hint(kind))};
}

Failure PgConnection::gave_up() {
  PQfinish(std::exchange(connection_, nullptr));
  return {FailureKind::unavailable,
          "PostgreSQL at " + where_ + " did not answer within " + std::to_string(answer_timeout_.count()) + " s"};
}

Result<void> PgConnection::begin() {
  if (broken()) return Failure{FailureKind::unavailable, "the connection to PostgreSQL at " + where_ + " is lost"};
  deadline_ = Clock::now() + answer_timeout_;
  return {};
}

Result<void> PgConnection::flush() {
  for (;;) {
    const int left = PQflush(connection_);
    if (left == 0) return {};
    if (left < 0) return failed(nullptr);
    // The server may itself be waiting for us to read.
    if (!wait_socket(PQsocket(connection_), POLLIN | POLLOUT, deadline_)) return gave_up();
    if (PQconsumeInput(connection_) == 0) return failed(nullptr);
  }
}

Result<void> PgConnection::await() {
  while (PQisBusy(connection_) != 0) {
    if (!wait_socket(PQsocket(connection_), POLLIN, deadline_)) return gave_up();
    if (PQconsumeInput(connection_) == 0) return failed(nullptr);
  }
  return {};
}

// The last result counts, the first failure ends it; every result is taken, so that the connection is free again.
Result<PgRows> PgConnection::finish(bool sent) {
  if (!sent) return failed(nullptr);
  if (auto flushed = flush(); !flushed) return flushed.failure();
  std::optional<Failure> failure;
  std::optional<PgRows> rows;
  for (;;) {
    if (auto ready = await(); !ready) return ready.failure();
    pg_result* result = PQgetResult(connection_);
    if (result == nullptr) break;
    PgRows next(result);
    const auto status = PQresultStatus(result);
    const bool good = status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK || status == PGRES_EMPTY_QUERY;
    if (!good && !failure) failure = failed(result);
    rows.emplace(std::move(next));
  }
  if (failure) return *failure;
  if (!rows) return failed(nullptr);
  return std::move(*rows);
}

Result<PgRows> PgConnection::run(const std::string& sql) {
  if (auto begun = begin(); !begun) return begun.failure();
  return finish(PQsendQuery(connection_, sql.c_str()) == 1);
}

Result<PgRows> PgConnection::query(const std::string& sql, const PgValues& values) {
  if (auto begun = begin(); !begun) return begun.failure();
  return finish(PQsendQueryParams(connection_, sql.c_str(), static_cast<int>(values.size()), nullptr,
                                  pointers(values).data(), nullptr, nullptr, 0) == 1);
}

Result<PgRows> PgConnection::query_often(const std::string& sql, const PgValues& values) {
  const auto through_pooler = pooled();
  if (!through_pooler) return through_pooler.failure();
  if (*through_pooler) return query(sql, values);
  auto kept = kept_.find(sql);
  if (kept == kept_.end()) {
    const std::string name = "outbox_" + std::to_string(kept_.size());
    if (auto prepared = prepare(name, sql); !prepared) return prepared.failure();
    kept = kept_.emplace(sql, name).first;
  }
  if (auto begun = begin(); !begun) return begun.failure();
  return finish(PQsendQueryPrepared(connection_, kept->second.c_str(), static_cast<int>(values.size()),
                                    pointers(values).data(), nullptr, nullptr, 0) == 1);
}

Result<void> PgConnection::prepare(const std::string& name, const std::string& sql) {
  if (auto begun = begin(); !begun) return begun.failure();
  auto rows = finish(PQsendPrepare(connection_, name.c_str(), sql.c_str(), 0, nullptr) == 1);
  if (!rows) return rows.failure();
  return {};
}

Result<void> PgConnection::stream(const std::string& name, const PgValues& values,
                                  const std::function<bool(const PgRows&)>& row) {
  if (auto begun = begin(); !begun) return begun.failure();
  return hand_over(PQsendQueryPrepared(connection_, name.c_str(), static_cast<int>(values.size()),
                                       pointers(values).data(), nullptr, nullptr, 1) == 1,
                   row);
}

Result<void> PgConnection::stream_unnamed(const std::string& sql, const PgValues& values,
                                          const std::function<bool(const PgRows&)>& row) {
  if (auto begun = begin(); !begun) return begun.failure();
  return hand_over(PQsendQueryParams(connection_, sql.c_str(), static_cast<int>(values.size()), nullptr,
                                     pointers(values).data(), nullptr, nullptr, 1) == 1,
                   row);
}

Result<void> PgConnection::hand_over(bool sent, const std::function<bool(const PgRows&)>& row) {
  if (!sent || PQsetSingleRowMode(connection_) != 1) return failed(nullptr);
  if (auto flushed = flush(); !flushed) return flushed;
  std::optional<Failure> failure;
  bool dropping = false;
  for (;;) {
    if (auto ready = await(); !ready) return ready;
    pg_result* result = PQgetResult(connection_);
    if (result == nullptr) break;
    const PgRows held(result);
    const auto status = PQresultStatus(result);
    if (status == PGRES_SINGLE_TUPLE) {
      if (!dropping && !row(held)) {
        dropping = true;
        cancel();
      }
      continue;
    }
    const char* code = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    const bool as_asked = dropping && code != nullptr && std::string_view(code) == "57014";
    if (status != PGRES_TUPLES_OK && !as_asked && !failure) failure = failed(result);
  }
  if (failure) return *failure;
  return {};
}

void PgConnection::cancel() {
  std::array<char, 256> error{};
  PGcancel* handle = PQgetCancel(connection_);
  // If it does not get through, the rest of the rows arrives and is dropped.
  PQcancel(handle, error.data(), static_cast<int>(error.size()));
  PQfreeCancel(handle);
}

Result<PgTransaction> PgTransaction::begin(PgConnection& connection) {
  auto begun = connection.run("begin isolation level read committed");
  if (!begun) return begun.failure();
  return PgTransaction(connection);
}

PgTransaction::~PgTransaction() {
  if (connection_ == nullptr || connection_->broken() || !connection_->in_transaction()) return;
  // Should it fail, the connection is broken and the server rolls back by itself.
  static_cast<void>(connection_->run("rollback").has_value());
}

Result<void> PgTransaction::commit() {
  auto committed = std::exchange(connection_, nullptr)->run("commit");
  if (!committed) return committed.failure();
  return {};
}

std::string pg_address(const std::string& url) {
  char* error = nullptr;
  PQconninfoOption* options = PQconninfoParse(url.c_str(), &error);
  PQfreemem(error);  // it may quote the URL
  if (options == nullptr) return {};
  std::string host = "localhost", port = "5432", database;
  for (const auto* option = options; option->keyword != nullptr; ++option) {
    if (option->val == nullptr) continue;
    const std::string_view keyword = option->keyword;
    if (keyword == "host" || (keyword == "hostaddr" && host == "localhost")) host = option->val;
    if (keyword == "port") port = option->val;
    if (keyword == "dbname") database = option->val;
  }
  PQconninfoFree(options);
  return host + ":" + port + "/" + database;
}

std::string pg_identifier(std::string_view name) {
  std::string quoted = "\"";
  for (const char c : name) quoted.append(c == '"' ? 2 : 1, c);
  return quoted + '"';
}

std::string pg_literal(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) quoted.append(c == '\'' ? 2 : 1, c);
  return quoted + "'";
}

std::string pg_qualified(std::string_view name) {
  const auto dot = name.find('.');
  if (dot == std::string_view::npos) return pg_identifier(name);
  return pg_identifier(name.substr(0, dot)) + "." + pg_identifier(name.substr(dot + 1));
}

std::string pg_array(const std::vector<PgValue>& values) {
  std::string literal = "{";
  for (const auto& value : values) {
    if (literal.size() > 1) literal += ',';
    if (!value) {
      literal += "NULL";
      continue;
    }
    literal += '"';
    for (const char c : *value) {
      if (c == '"' || c == '\\') literal += '\\';
      literal += c;
    }
    literal += '"';
  }
  return literal + '}';
}

std::string pg_bytea(std::string_view bytes) {
  static constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text = "\\x";
  text.reserve(2 + 2 * bytes.size());
  for (const char c : bytes) {
    text += kDigits[static_cast<unsigned char>(c) >> 4];
    text += kDigits[static_cast<unsigned char>(c) & 15];
  }
  return text;
}

std::vector<std::int64_t> pg_integers(std::string_view text) {
  std::vector<std::int64_t> values;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at != end) {
    std::int64_t value = 0;
    const auto [next, error] = std::from_chars(at, end, value);
    if (error != std::errc()) break;
    values.push_back(value);
    at = next == end ? end : next + 1;
  }
  return values;
}

std::string pg_from_hex(std::string_view digits) {
  const auto value = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
  std::string bytes;
  bytes.reserve(digits.size() / 2);
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2) {
    bytes += static_cast<char>(value(digits[i]) << 4 | value(digits[i + 1]));
  }
  return bytes;
}

std::string pg_time(Time time) {
  if (time == kNever) return "infinity";
  if (time == Time::min()) return "-infinity";
  const auto day = std::chrono::floor<std::chrono::days>(time);
  // std::chrono knows years up to 32767, the server those up to 294276: 400 years always have as many days.
  using Cycle = std::chrono::duration<std::int64_t, std::ratio<146'097L * 86'400>>;
  const Cycle cycle = std::chrono::floor<Cycle>(day.time_since_epoch());
  const std::chrono::year_month_day date(day - std::chrono::days(cycle));
  const std::chrono::hh_mm_ss clock(time - day);
  const auto year = static_cast<int>(date.year()) + static_cast<int>(cycle.count()) * 400;
  std::array<char, 64> text{};
  const int size = std::snprintf(text.data(), text.size(), "%04d-%02u-%02u %02d:%02d:%02d.%06d+00%s",
                                 year > 0 ? year : 1 - year, static_cast<unsigned>(date.month()),
                                 static_cast<unsigned>(date.day()), static_cast<int>(clock.hours().count()),
                                 static_cast<int>(clock.minutes().count()), static_cast<int>(clock.seconds().count()),
                                 static_cast<int>(clock.subseconds().count()), year > 0 ? "" : " BC");
  return {text.data(), static_cast<std::size_t>(size)};
}

std::int64_t pg_int64(std::string_view bytes) { return big_endian<std::int64_t>(bytes); }
std::int32_t pg_int32(std::string_view bytes) { return big_endian<std::int32_t>(bytes); }

Time pg_timestamp(std::string_view bytes) {
  const auto since_2000 = pg_int64(bytes);
  if (since_2000 == INT64_MAX) return kNever;
  if (since_2000 == INT64_MIN) return Time::min();
  if (since_2000 > kLatest.time_since_epoch().count() - kPostgresEpoch) return kLatest;
  return Time(Duration(since_2000 + kPostgresEpoch));
}

}  // namespace outbox::db
