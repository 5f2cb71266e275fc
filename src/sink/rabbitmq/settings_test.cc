#include "sink/rabbitmq/settings.h"

#include <gtest/gtest.h>

#include "sink/rabbitmq/rabbitmq_sink.h"

namespace outbox::rabbitmq {
namespace {

using namespace std::chrono_literals;

Result<Settings> read(const std::map<std::string, std::string>& texts) {
  return read_settings("events", config::parse_values(rabbitmq_options(), texts));
}

std::string problem(const std::map<std::string, std::string>& texts) {
  const Result<Settings> settings = read(texts);
  return settings ? "" : settings.failure().what;
}

TEST(RabbitMqSettings, WhatTheUrlLeavesOut) {
  const Result<Settings> settings = read({{"url", "amqp://broker"}});
  ASSERT_TRUE(settings);
  EXPECT_EQ(settings->endpoint(), "broker:5672");
  EXPECT_EQ(settings->vhost, "/");
  EXPECT_EQ(settings->user, "guest");
  EXPECT_FALSE(settings->tls);
  EXPECT_TRUE(settings->verify);
  EXPECT_EQ(settings->heartbeat, 10s);
  EXPECT_EQ(settings->connect_timeout, 5s);
  EXPECT_EQ(read({{"url", "amqp://broker/"}})->vhost, "/");
  EXPECT_EQ(read({{"url", "amqps://broker"}})->endpoint(), "broker:5671");
}

TEST(RabbitMqSettings, WhatTheUrlSays) {
  const Result<Settings> settings = read({{"url", "amqps://shop:p%40ss@mq.example.test:1234/shop%2Fone"}});
  ASSERT_TRUE(settings);
  EXPECT_TRUE(settings->tls);
  EXPECT_EQ(settings->endpoint(), "mq.example.test:1234");
  EXPECT_EQ(settings->user, "shop");
  EXPECT_EQ(settings->password, "p@ss");
  EXPECT_EQ(settings->vhost, "shop/one");
}

TEST(RabbitMqSettings, WhatIsWrongIsSaidWithoutThePassword) {
  for (const char* url : {"http://u:hunter2@h", "u:hunter2@h:5672", "amqp://u:hunter2@h:port"}) {
    const std::string what = problem({{"url", url}});
    EXPECT_EQ(what.rfind("sinks.events.url: is no AMQP URL", 0), 0u) << url << what;
    EXPECT_EQ(what.find("hunter2"), std::string::npos);
  }
  EXPECT_EQ(problem({{"url", "amqp://h"}, {"heartbeat", "1500ms"}}),
            "sinks.events.heartbeat: the protocol knows whole seconds only; write 10s");
  EXPECT_EQ(problem({{"url", "amqps://h"}, {"tls.key", "k.pem"}}),
            "sinks.events.tls.key: tls.certificate and tls.key belong together; give both or neither");
  EXPECT_EQ(problem({{"url", "amqp://h"}, {"tls.ca", "ca.pem"}}),
            "sinks.events.tls.ca: is given, but the URL says amqp; write amqps");
}

TEST(RabbitMqSettings, RoutesTakeFromTheSinkWhatTheyDoNotSay) {
  const SinkType type = rabbitmq_sink();
  const auto sink = config::parse_values(type.options, {{"url", "amqp://h"}, {"exchange", "shop"}});
  EXPECT_EQ(type.default_address(sink), "shop/{type}");
  const std::vector<config::Option> options{
      {.name = "exchange", .type = config::OptionType::text, .fallback = "", .help = ""},
      {.name = "routing_key", .type = config::OptionType::text, .fallback = "", .help = ""}};
  const auto address = [&](const std::map<std::string, std::string>& route) {
    return type.route_address(sink, config::parse_values(options, route));
  };
  EXPECT_EQ(address({{"routing_key", "orders.{type}"}}), "shop/orders.{type}");
  EXPECT_EQ(address({{"exchange", "other"}}), "other/{type}");
  EXPECT_EQ(address({{"exchange", ""}, {"routing_key", "orders"}}), "/orders");
}

}  // namespace
}  // namespace outbox::rabbitmq
