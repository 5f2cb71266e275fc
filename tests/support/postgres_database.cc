#include "support/postgres_database.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <stdexcept>

namespace outbox::test {
namespace {

struct Clear {
  void operator()(PGresult* result) const { PQclear(result); }
};
using Answer = std::unique_ptr<PGresult, Clear>;

Answer checked(PGconn* connection, PGresult* result, const std::string& sql) {
  Answer answer(result);
  const ExecStatusType status = PQresultStatus(result);
  if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK && status != PGRES_EMPTY_QUERY) {
    throw std::runtime_error(std::string(PQerrorMessage(connection)) + "in: " + sql);
  }
  return answer;
}

// The server's URL with another database: postgresql://user@host:port/DATABASE?options
std::string with_database(const std::string& server, const std::string& database) {
  const std::size_t authority = server.find("://");
  if (authority == std::string::npos) throw std::runtime_error("not a database URL");
  const std::size_t path = std::min(server.find_first_of("/?", authority + 3), server.size());
  const std::size_t options = std::min(server.find('?', path), server.size());
  return server.substr(0, path) + "/" + database + server.substr(options);
}

}  // namespace

PostgresDatabase::PostgresDatabase(std::string server) : server_(std::move(server)) {
  static std::atomic<int> counter{0};
  name_ = "t" + std::to_string(getpid()) + "_" + std::to_string(++counter);
  url_ = with_database(server_, name_);
  const Connection administrator = connect(server_);
  // Pids come round again: what a killed test left behind goes first.
  for (const std::string& sql : {"DROP DATABASE IF EXISTS " + name_, "CREATE DATABASE " + name_}) {
    checked(administrator.get(), PQexec(administrator.get(), sql.c_str()), sql);
  }
}

PostgresDatabase::~PostgresDatabase() {
  connection_.reset();
  try {
    const Connection administrator = connect(server_);
    const std::string sql = "DROP DATABASE IF EXISTS " + name_ + " WITH (FORCE)";
    checked(administrator.get(), PQexec(administrator.get(), sql.c_str()), sql);
  } catch (const std::runtime_error& error) {  // a server that the test has stopped: its data is disposable
    std::fprintf(stderr, "database %s stays behind: %s\n", name_.c_str(), error.what());
  }
}

PostgresDatabase::Connection PostgresDatabase::connect(const std::string& url) {
  Connection connection(PQconnectdb(url.c_str()));
  if (PQstatus(connection.get()) != CONNECTION_OK) throw std::runtime_error(PQerrorMessage(connection.get()));
  PQsetNoticeProcessor(
      connection.get(), [](void*, const char*) {}, nullptr);
  return connection;
}

PGconn* PostgresDatabase::connection() {
  if (connection_ == nullptr || PQstatus(connection_.get()) != CONNECTION_OK) connection_ = connect(url_);
  return connection_.get();
}

void PostgresDatabase::execute(const std::string& sql) {
  checked(connection(), PQexec(connection(), sql.c_str()), sql);
}

std::vector<PostgresDatabase::Row> PostgresDatabase::query(const std::string& sql,
                                                           const std::vector<std::optional<std::string>>& parameters) {
  std::vector<const char*> values;
  values.reserve(parameters.size());
  for (const auto& parameter : parameters) values.push_back(parameter ? parameter->c_str() : nullptr);
  const Answer answer = checked(connection(),
                                PQexecParams(connection(), sql.c_str(), static_cast<int>(values.size()), nullptr,
                                             values.data(), nullptr, nullptr, 0),
                                sql);
  std::vector<Row> rows(static_cast<std::size_t>(PQntuples(answer.get())));
  for (int row = 0; row < PQntuples(answer.get()); ++row) {
    for (int column = 0; column < PQnfields(answer.get()); ++column) {
      auto& cell = rows[static_cast<std::size_t>(row)].emplace_back();
      if (PQgetisnull(answer.get(), row, column) != 0) continue;
      cell.emplace(PQgetvalue(answer.get(), row, column),
                   static_cast<std::size_t>(PQgetlength(answer.get(), row, column)));
    }
  }
  return rows;
}

std::string PostgresDatabase::value(const std::string& sql) {
  const std::vector<Row> rows = query(sql);
  if (rows.size() != 1 || rows[0].empty() || !rows[0][0]) throw std::runtime_error("not one value: " + sql);
  return *rows[0][0];
}

}  // namespace outbox::test
