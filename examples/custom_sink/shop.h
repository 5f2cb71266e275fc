// The shop's database. Each order is one transaction: the row of the order, and the message about it.
#pragma once

#include <outbox/message.h>

#include <memory>
#include <string>

struct Order {
  std::string customer;
  long total = 0;
};

class Shop {
 public:
  virtual ~Shop() = default;
  // Returns once it is committed; throws, and has then stored nothing.
  virtual void place(const Order& order) = 0;
};

// What the partner is told of it. The customer is the ordering key.
inline outbox::Message order_placed(const Order& order, const std::string& number) {
  outbox::Message message;
  message.aggregate_type = "customer";
  message.aggregate_id = order.customer;
  message.type = "OrderPlaced";
  message.payload = "{\"order\":" + number + ",\"total\":" + std::to_string(order.total) + "}";
  return message;
}

std::unique_ptr<Shop> open_sqlite_shop(const std::string& file);
std::unique_ptr<Shop> open_postgres_shop(const std::string& url);
