#include "sink/rabbitmq/address.h"

#include <gtest/gtest.h>

namespace outbox::rabbitmq {
namespace {

std::string text(const std::optional<Address>& address) {
  return address ? "<" + address->exchange + "><" + address->routing_key + ">" : "none";
}

TEST(RabbitMqAddress, IsAnExchangeAndARoutingKey) {
  EXPECT_EQ(text(parse_address("order/Placed")), "<order><Placed>");
  EXPECT_EQ(text(parse_address("/orders")), "<><orders>") << "the default exchange";
  EXPECT_EQ(text(parse_address("order/")), "<order><>") << "a fanout exchange needs no key";
  EXPECT_EQ(text(parse_address("a%2Fb/c%25d/e")), "<a/b><c%d/e>");
  for (const char* bad : {"order", "order/%2", "order/%zz", "%/x"}) EXPECT_EQ(text(parse_address(bad)), "none") << bad;
}

TEST(RabbitMqAddress, NoFieldChangesTheAddressAroundIt) {
  for (const std::string value : {"a/b", "a%2Fb", "%", "/", "é{x}"}) {
    const auto address = parse_address(escape_field(value) + "/" + escape_field(value));
    EXPECT_EQ(text(address), "<" + value + "><" + value + ">");
  }
}

TEST(RabbitMqAddress, TemplatesKeepTheirFields) {
  EXPECT_EQ(join_templates("{aggregate_type}", "{type}"), "{aggregate_type}/{type}");
  EXPECT_EQ(join_templates("a/b.{type}", "100%/{id}"), "a%2Fb.{type}/100%25%2F{id}");
  EXPECT_EQ(join_templates("", "orders"), "/orders");
}

// Case B141.
TEST(RabbitMqAddress, LimitsAreInBytes) {
  std::string twice_127;
  for (int i = 0; i < 127; ++i) twice_127 += "é";
  EXPECT_FALSE(refuse_address({"x", std::string(255, 'a')}));
  EXPECT_FALSE(refuse_address({"x", twice_127}));
  for (const std::string& key : {std::string(256, 'a'), twice_127 + "é"}) {
    const auto refused = refuse_address({"x", key});
    ASSERT_TRUE(refused);
    EXPECT_EQ(refused->verdict, Verdict::rejected);
    EXPECT_EQ(refused->reason, "routing_key_too_long");
    EXPECT_EQ(refused->detail, "the routing key has 256 bytes, AMQP allows 255");
  }
  EXPECT_EQ(refuse_address({std::string(256, 'e'), "k"})->reason, "exchange_too_long");
}

}  // namespace
}  // namespace outbox::rabbitmq
