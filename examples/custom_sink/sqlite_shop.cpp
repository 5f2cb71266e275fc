#include <outbox/sqlite.h>
#include <sqlite3.h>

#include <stdexcept>

#include "shop.h"

namespace {

struct Close {
  void operator()(sqlite3* database) const { sqlite3_close(database); }
};

class SqliteShop : public Shop {
 public:
  explicit SqliteShop(const std::string& file) {
    sqlite3* opened = nullptr;
    const int code = sqlite3_open_v2(file.c_str(), &opened, SQLITE_OPEN_READWRITE, nullptr);
    database_.reset(opened);
    if (code != SQLITE_OK) throw std::runtime_error(file + ": " + sqlite3_errmsg(opened));
    execute("pragma busy_timeout = 5000; pragma synchronous = full");
    execute("create table if not exists shop_order (number integer primary key, customer text, total integer)");
  }

  void place(const Order& order) override {
    execute("begin immediate");
    try {
      insert(order);
      execute("commit");
    } catch (...) {
      sqlite3_exec(database_.get(), "rollback", nullptr, nullptr, nullptr);
      throw;
    }
  }

 private:
  void insert(const Order& order) {
    sqlite3_stmt* statement = nullptr;
    sqlite3_prepare_v2(database_.get(), "insert into shop_order (customer, total) values (?, ?)", -1, &statement,
                       nullptr);
    sqlite3_bind_text(statement, 1, order.customer.c_str(), -1, SQLITE_STATIC);
    sqlite3_bind_int64(statement, 2, order.total);
    sqlite3_step(statement);
    if (sqlite3_finalize(statement) != SQLITE_OK) throw std::runtime_error(sqlite3_errmsg(database_.get()));
    const auto number = std::to_string(sqlite3_last_insert_rowid(database_.get()));
    outbox::enqueue(database_.get(), order_placed(order, number));
  }

  void execute(const char* sql) {
    if (sqlite3_exec(database_.get(), sql, nullptr, nullptr, nullptr) != SQLITE_OK) {
      throw std::runtime_error(sqlite3_errmsg(database_.get()));
    }
  }

  std::unique_ptr<sqlite3, Close> database_;
};

}  // namespace

std::unique_ptr<Shop> open_sqlite_shop(const std::string& file) { return std::make_unique<SqliteShop>(file); }
