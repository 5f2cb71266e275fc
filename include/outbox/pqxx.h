// enqueue for libpqxx. Rules: outbox/enqueue.h; about PostgreSQL: outbox/postgres.h.
//
// Takes any libpqxx transaction that ends in a commit: work, transaction<...>, robusttransaction, subtransaction. A
// nontransaction is refused, because every statement in it commits by itself. Link outbox::pqxx.
#pragma once

#include <cstdint>
#include <optional>
#include <pqxx/pqxx>
#include <span>
#include <string>
#include <vector>

#include "outbox/detail/postgres_session.h"
#include "outbox/enqueue.h"
#include "outbox/error.h"
#include "outbox/message.h"

namespace outbox {
namespace detail {

class PqxxSession final : public PostgresSession {
 public:
  // Values are written into the statement, because libpqxx 6 sends one with parameters without looking whether the
  // transaction has begun or ended.
  explicit PqxxSession(pqxx::transaction_base& transaction)
      : PostgresSession(Values::literals), transaction_(transaction) {
    if (dynamic_cast<pqxx::nontransaction*>(&transaction) != nullptr) {
      throw Error("a pqxx::nontransaction commits each statement by itself: enqueue inside a pqxx::work", {}, false,
                  false);
    }
  }

  std::vector<Row> run(const std::string& sql, const std::vector<std::string>&) override {
    try {
      return rows(transaction_.exec(sql));
    } catch (const pqxx::serialization_failure& error) {
      throw_postgres_error("40001", error.what());
    } catch (const pqxx::deadlock_detected& error) {
      throw_postgres_error("40P01", error.what());
    } catch (const pqxx::transaction_rollback& error) {
      throw_postgres_error("40000", error.what());
    } catch (const pqxx::sql_error& error) {
      throw_postgres_error(error.sqlstate(), error.what());
    } catch (const pqxx::broken_connection& error) {
      throw_postgres_error({}, error.what());
    } catch (const pqxx::usage_error& error) {
      throw Error(std::string("this pqxx transaction takes no statement: ") + error.what(), {}, false, false);
    }
  }

  std::string identity() const override {
    const auto& connection = transaction_.conn();
    const int server_process = connection.backendpid();
    if (server_process == 0) return {};
    return std::to_string(reinterpret_cast<std::uintptr_t>(&connection)) + "/" + std::to_string(server_process);
  }

 private:
  static std::vector<Row> rows(const pqxx::result& result) {
    std::vector<Row> rows;
    for (const auto& row : result) {
      Row& copy = rows.emplace_back();
      for (const auto& field : row) {
        copy.push_back(field.is_null() ? std::nullopt : std::optional<std::string>(field.c_str()));
      }
    }
    return rows;
  }

  pqxx::transaction_base& transaction_;
};

}  // namespace detail

// In the order given, which is also the order of delivery within a key.
inline std::vector<Enqueued> enqueue(pqxx::transaction_base& transaction, std::span<const Message> messages,
                                     const EnqueueOptions& options = {}) {
  detail::PqxxSession session(transaction);
  return detail::enqueue(session, messages, options);
}

inline Enqueued enqueue(pqxx::transaction_base& transaction, const Message& message,
                        const EnqueueOptions& options = {}) {
  return enqueue(transaction, std::span<const Message>(&message, 1), options).front();
}

}  // namespace outbox
