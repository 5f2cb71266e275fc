// The seam between enqueue and the PostgreSQL drivers. Not for applications.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "outbox/enqueue.h"
#include "outbox/message.h"

namespace outbox::detail {

// The caller's connection, with the caller's transaction open on it.
class PostgresSession {
 public:
  using Row = std::vector<std::optional<std::string>>;

  // How values travel: beside the statement in binary format, or written into it. A driver whose call with parameters
  // forgets to begin a transaction, or to see that it has ended, takes the second.
  enum class Values { parameters, literals };

  explicit PostgresSession(Values values) : values_(values) {}
  virtual ~PostgresSession() = default;
  Values values() const { return values_; }

  // One statement, one round trip; results in text format. Throws outbox::Error. No parameters with Values::literals.
  virtual std::vector<Row> run(const std::string& sql, const std::vector<std::string>& parameters) = 0;

  // Another connection has another one, also when it lives at the same address. Empty: not known yet.
  virtual std::string identity() const = 0;

 private:
  Values values_;
};

std::vector<Enqueued> enqueue(PostgresSession& session, std::span<const Message> messages,
                              const EnqueueOptions& options);

// Throws the Error for what the server reported. `sql_state` is empty when the connection was lost.
[[noreturn]] void throw_postgres_error(std::string_view sql_state, std::string_view message);

}  // namespace outbox::detail
