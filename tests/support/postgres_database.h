// PostgresDatabase: a fresh, empty database on a real server, dropped with the test. One thread at a time; several
// tests at once each have their own.
#pragma once

#include <libpq-fe.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace outbox::test {

class PostgresDatabase {
 public:
  // `server` is a URL as in OUTBOX_POSTGRESQL. Throws std::runtime_error.
  explicit PostgresDatabase(std::string server);
  ~PostgresDatabase();
  PostgresDatabase(const PostgresDatabase&) = delete;
  PostgresDatabase& operator=(const PostgresDatabase&) = delete;

  const std::string& name() const { return name_; }
  const std::string& url() const { return url_; }  // postgresql://…/name

  // A connection that is open to this database, connected again if the server was restarted. Ours to close.
  PGconn* connection();

  // One or more statements without parameters; a failure throws std::runtime_error with the server's message.
  void execute(const std::string& sql);

  using Row = std::vector<std::optional<std::string>>;  // empty: NULL
  std::vector<Row> query(const std::string& sql, const std::vector<std::optional<std::string>>& parameters = {});

  // The first column of the only row; throws if there is another number of rows, or NULL.
  std::string value(const std::string& sql);

 private:
  struct Close {
    void operator()(PGconn* connection) const { PQfinish(connection); }
  };
  using Connection = std::unique_ptr<PGconn, Close>;
  static Connection connect(const std::string& url);

  std::string server_;
  std::string name_;
  std::string url_;
  Connection connection_;
};

}  // namespace outbox::test
