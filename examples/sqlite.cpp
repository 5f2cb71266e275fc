// An order and its message in one transaction, with SQLite.
//
//   outboxd init --database sqlite:shop.db
//   example_sqlite shop.db
#include <outbox/sqlite.h>
#include <sqlite3.h>

#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>

namespace {

void execute(sqlite3* database, const char* sql) {
  if (sqlite3_exec(database, sql, nullptr, nullptr, nullptr) != SQLITE_OK) {
    throw std::runtime_error(sqlite3_errmsg(database));
  }
}

outbox::Enqueued place_order(sqlite3* database) {
  execute(database, "begin immediate");  // never a deferred transaction for what is going to write
  execute(database, "insert into shop_order (id, total) values (4713, 5.00)");

  outbox::Message message;
  message.aggregate_type = "order";
  message.aggregate_id = "4713";
  message.type = "OrderConfirmed";
  message.payload = R"({"order":4713,"total":5.00})";
  outbox::Enqueued enqueued = outbox::enqueue(database, message);

  execute(database, "commit");
  return enqueued;
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 2) throw std::runtime_error("usage: example_sqlite FILE");
  sqlite3* opened = nullptr;
  const int code = sqlite3_open_v2(argv[1], &opened, SQLITE_OPEN_READWRITE, nullptr);
  const std::unique_ptr<sqlite3, decltype(&sqlite3_close)> database(opened, &sqlite3_close);
  if (code != SQLITE_OK) throw std::runtime_error(sqlite3_errmsg(opened));

  execute(opened, "pragma busy_timeout = 5000; pragma synchronous = full");
  execute(opened, "create table if not exists shop_order (id integer, total numeric)");
  std::printf("%s\n", place_order(opened).id.c_str());
  return 0;
} catch (const std::exception& error) {  // the file closes, so an open transaction is rolled back
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
