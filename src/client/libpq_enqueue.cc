#include <libpq-fe.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "client/checked_message.h"
#include "outbox/detail/postgres_session.h"
#include "outbox/error.h"
#include "outbox/postgres.h"

namespace outbox {
namespace {

using ResultHandle = std::unique_ptr<PGresult, decltype(&PQclear)>;

// Throws unless a statement can be sent now, in a transaction that can still commit.
void require_open_transaction(PGconn* connection) {
  switch (PQtransactionStatus(connection)) {
    case PQTRANS_INTRANS: break;
    case PQTRANS_IDLE:
      client::refuse("no transaction is open: BEGIN, write the business data and the message, then COMMIT");
    case PQTRANS_ACTIVE: client::refuse("the connection is busy: read the result of the last statement first");
    case PQTRANS_INERROR:
      throw Error("the transaction has failed already, by an earlier statement: roll back", {}, false, true);
    case PQTRANS_UNKNOWN: throw Error("the connection is lost: connect again, retry the transaction", {}, true, true);
  }
  if (PQpipelineStatus(connection) != PQ_PIPELINE_OFF) {
    client::refuse("the connection is in pipeline mode: leave it before enqueue");
  }
}

class LibpqSession final : public detail::PostgresSession {
 public:
  explicit LibpqSession(PGconn* connection) : PostgresSession(Values::parameters), connection_(connection) {
    require_open_transaction(connection);
  }

  std::vector<Row> run(const std::string& sql, const std::vector<std::string>& parameters) override {
    std::vector<const char*> values;
    std::vector<int> lengths;
    for (const std::string& parameter : parameters) {
      values.push_back(parameter.data());
      lengths.push_back(static_cast<int>(parameter.size()));
    }
    const std::vector<int> formats(parameters.size(), 1);
    const ResultHandle result(PQexecParams(connection_, sql.c_str(), static_cast<int>(parameters.size()), nullptr,
                                           values.data(), lengths.data(), formats.data(), 0),
                              &PQclear);
    if (PQresultStatus(result.get()) != PGRES_TUPLES_OK) fail(result.get());
    return rows(result.get());
  }

  std::string identity() const override {
    return std::to_string(reinterpret_cast<std::uintptr_t>(connection_)) + "/" +
           std::to_string(PQbackendPID(connection_));
  }

 private:
  [[noreturn]] void fail(const PGresult* result) const {
    const char* state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    const char* message = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    detail::throw_postgres_error(state != nullptr ? state : "",
                                 message != nullptr ? message : PQerrorMessage(connection_));
  }

  static std::vector<Row> rows(const PGresult* result) {
    std::vector<Row> rows(static_cast<std::size_t>(PQntuples(result)));
    for (int i = 0; i < PQntuples(result); ++i) {
      for (int column = 0; column < PQnfields(result); ++column) {
        std::optional<std::string> field;
        if (PQgetisnull(result, i, column) == 0) field = PQgetvalue(result, i, column);
        rows[static_cast<std::size_t>(i)].push_back(std::move(field));
      }
    }
    return rows;
  }

  PGconn* connection_;
};

}  // namespace

std::vector<Enqueued> enqueue(pg_conn* connection, std::span<const Message> messages, const EnqueueOptions& options) {
  LibpqSession session(connection);
  return detail::enqueue(session, messages, options);
}

Enqueued enqueue(pg_conn* connection, const Message& message, const EnqueueOptions& options) {
  return enqueue(connection, std::span(&message, 1), options).front();
}

}  // namespace outbox
