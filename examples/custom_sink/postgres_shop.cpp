#include <libpq-fe.h>
#include <outbox/postgres.h>

#include <stdexcept>
#include <vector>

#include "shop.h"

namespace {

using Result = std::unique_ptr<PGresult, decltype(&PQclear)>;

struct Close {
  void operator()(PGconn* connection) const { PQfinish(connection); }
};

class PostgresShop : public Shop {
 public:
  explicit PostgresShop(const std::string& url) : connection_(PQconnectdb(url.c_str())) {
    if (PQstatus(connection_.get()) != CONNECTION_OK) throw std::runtime_error(PQerrorMessage(connection_.get()));
    execute("set client_min_messages = warning");
    execute("create table if not exists shop_order (number bigserial primary key, customer text, total bigint)");
  }

  void place(const Order& order) override {
    execute("begin");
    try {
      insert(order);
      execute("commit");
    } catch (...) {
      const Result rolled_back(PQexec(connection_.get(), "rollback"), &PQclear);
      throw;
    }
  }

 private:
  void insert(const Order& order) {
    // The orders of one customer take turns, so that their messages go out in the order of their commits.
    execute("select pg_advisory_xact_lock(hashtext($1))", {order.customer});
    const Result row = execute("insert into shop_order (customer, total) values ($1, $2) returning number",
                               {order.customer, std::to_string(order.total)});
    outbox::enqueue(connection_.get(), order_placed(order, PQgetvalue(row.get(), 0, 0)));
  }

  Result execute(const char* sql, const std::vector<std::string>& values = {}) {
    std::vector<const char*> parameters;
    parameters.reserve(values.size());
    for (const std::string& value : values) parameters.push_back(value.c_str());
    Result result(PQexecParams(connection_.get(), sql, static_cast<int>(parameters.size()), nullptr, parameters.data(),
                               nullptr, nullptr, 0),
                  &PQclear);
    const auto status = PQresultStatus(result.get());
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) {
      throw std::runtime_error(PQerrorMessage(connection_.get()));
    }
    return result;
  }

  std::unique_ptr<PGconn, Close> connection_;
};

}  // namespace

std::unique_ptr<Shop> open_postgres_shop(const std::string& url) { return std::make_unique<PostgresShop>(url); }
