// An order and its message in one transaction, with libpq.
//
//   outboxd init --database postgresql://shop@localhost/shop
//   example_postgres_libpq postgresql://shop@localhost/shop
#include <libpq-fe.h>
#include <outbox/postgres.h>

#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>

namespace {

void execute(PGconn* connection, const char* sql) {
  PGresult* result = PQexec(connection, sql);
  const ExecStatusType status = PQresultStatus(result);
  PQclear(result);
  if (status != PGRES_COMMAND_OK) throw std::runtime_error(PQerrorMessage(connection));
}

outbox::Enqueued place_order(PGconn* connection) {
  execute(connection, "begin");
  execute(connection, "insert into shop_order (id, total) values (4711, 99.90)");

  outbox::Message message;
  message.aggregate_type = "order";
  message.aggregate_id = "4711";
  message.type = "OrderConfirmed";
  message.payload = R"({"order":4711,"total":99.90})";
  outbox::Enqueued enqueued = outbox::enqueue(connection, message);

  execute(connection, "commit");
  return enqueued;
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 2) throw std::runtime_error("usage: example_postgres_libpq postgresql://...");
  const std::unique_ptr<PGconn, decltype(&PQfinish)> connection(PQconnectdb(argv[1]), &PQfinish);
  if (PQstatus(connection.get()) != CONNECTION_OK) throw std::runtime_error(PQerrorMessage(connection.get()));

  execute(connection.get(), "create table if not exists shop_order (id bigint, total numeric(10, 2))");
  std::printf("%s\n", place_order(connection.get()).id.c_str());
  return 0;
} catch (const std::exception& error) {  // the connection closes, so an open transaction is rolled back
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
