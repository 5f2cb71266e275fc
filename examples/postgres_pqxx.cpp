// An order and its two messages in one transaction, with libpqxx. Retried as a whole when the database says so.
//
//   outboxd init --database postgresql://shop@localhost/shop
//   example_postgres_pqxx postgresql://shop@localhost/shop
#include <outbox/pqxx.h>

#include <iostream>
#include <stdexcept>
#include <vector>

namespace {

// The ids are made once and kept over all attempts: if a commit was in doubt and had succeeded after all, the next
// attempt finds its messages stored.
std::vector<outbox::Message> order_messages() {
  std::vector<outbox::Message> messages(2);
  for (outbox::Message& message : messages) {
    message.id = outbox::make_message_id();
    message.aggregate_type = "order";
    message.aggregate_id = "4712";
    message.headers = {{"tenant", "north"}};
  }
  messages[0].type = "OrderPlaced";
  messages[0].payload = R"({"order":4712})";
  messages[1].type = "OrderConfirmed";
  messages[1].payload = R"({"order":4712,"total":12.50})";
  return messages;
}

void place_order(pqxx::connection& connection, const std::vector<outbox::Message>& messages) {
  pqxx::work transaction(connection);
  const auto enqueued = outbox::enqueue(transaction, messages);
  if (enqueued[0].duplicate) return;  // an earlier attempt has committed the order with its messages
  transaction.exec("insert into shop_order (id, total) values (4712, 12.50)");
  transaction.commit();
  for (const auto& message : enqueued) std::cout << message.id << '\n';
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 2) throw std::runtime_error("usage: example_postgres_pqxx postgresql://...");
  pqxx::connection connection(argv[1]);
  {
    pqxx::work setup(connection);
    setup.exec("create table if not exists shop_order (id bigint, total numeric(10, 2))");
    setup.commit();
  }
  const auto messages = order_messages();
  for (int attempt = 1;; ++attempt) {
    try {
      place_order(connection, messages);
      return 0;
    } catch (const pqxx::in_doubt_error&) {  // the connection broke during COMMIT
      if (attempt == 3) throw;
    } catch (const outbox::Error& error) {
      if (!error.retryable() || attempt == 3) throw;
    }
  }
} catch (const std::exception& error) {
  std::cerr << error.what() << '\n';
  return 1;
}
