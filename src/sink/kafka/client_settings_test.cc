#include "sink/kafka/client_settings.h"

#include <gtest/gtest.h>

#include "sink/kafka/kafka_sink.h"

namespace outbox::kafka {
namespace {

Result<ClientSettings> read(std::map<std::string, std::string> texts) {
  texts.emplace("brokers", "localhost:9092");
  return read_settings("events", config::parse_values(kafka_options(), texts));
}

std::string problem(const std::string& client) {
  const Result<ClientSettings> settings = read({{"client", client}});
  return settings ? "" : settings.failure().what;
}

std::string value_of(const rd_kafka_conf_t* conf, const char* name) {
  char text[256];
  std::size_t size = sizeof text;
  return rd_kafka_conf_get(conf, name, text, &size) == RD_KAFKA_CONF_OK ? text : "?";
}

TEST(ClientSettings, DefaultsKeepOrderAndConfirmation) {
  const Result<ClientSettings> settings = read({});
  ASSERT_TRUE(settings);
  const Result<ConfHandle> conf = producer_conf(*settings, kBatchBytes);
  ASSERT_TRUE(conf);
  EXPECT_EQ(value_of(conf->get(), "enable.idempotence"), "true");
  EXPECT_EQ(value_of(conf->get(), "enable.gapless.guarantee"), "true");
  EXPECT_EQ(value_of(conf->get(), "acks"), "-1");
  EXPECT_EQ(value_of(conf->get(), "message.timeout.ms"), "0");
  EXPECT_EQ(value_of(conf->get(), "partitioner"), "murmur2_random");
  EXPECT_EQ(value_of(conf->get(), "linger.ms"), "5");
  EXPECT_EQ(value_of(conf->get(), "socket.nagle.disable"), "true");
}

TEST(ClientSettings, ABrokerThatIsAwayIsTriedEverMoreSeldom) {
  const Result<ClientSettings> settings = read({});
  ASSERT_TRUE(settings);
  const Result<ConfHandle> conf = producer_conf(*settings, kBatchBytes);
  ASSERT_TRUE(conf);
  EXPECT_EQ(value_of(conf->get(), "reconnect.backoff.ms"), "100");
  EXPECT_EQ(value_of(conf->get(), "reconnect.backoff.max.ms"), "5000");
  EXPECT_EQ(value_of(conf->get(), "enable.sparse.connections"), "false");
}

// Cases B121, B123, B125.
TEST(ClientSettings, WhatWouldBreakOrderOrConfirmationIsRefused) {
  for (const char* key :
       {"enable.idempotence=false", "acks=0", "acks=1", "request.required.acks=0", "max.in.flight=100",
        "max.in.flight.requests.per.connection=100", "message.timeout.ms=1000", "delivery.timeout.ms=1000", "retries=0",
        "message.send.max.retries=0", "partitioner=consistent", "delivery.report.only.error=true", "transactional.id=x",
        "queuing.strategy=lifo", "enable.gapless.guarantee=false", "test.mock.num.brokers=3", "topic.acks=0",
        "topic.queuing.strategy=lifo", "topic.partitioner=consistent"}) {
    const std::string name = std::string(key).substr(0, std::string(key).find('='));
    EXPECT_EQ(problem(key).rfind("sinks.events.client." + name + ": cannot be set: ", 0), 0u) << key << problem(key);
  }
}

TEST(ClientSettings, OwnOptionsAreNamed) {
  EXPECT_EQ(problem("linger.ms=9"), "sinks.events.client.linger.ms: cannot be set: use the option linger");
  EXPECT_EQ(problem("bootstrap.servers=a:1"),
            "sinks.events.client.bootstrap.servers: cannot be set: use the option brokers");
}

TEST(ClientSettings, UnknownKeysAndBadValuesAreErrorsWithoutTheValue) {
  EXPECT_EQ(problem("sasl.pasword=hunter2"), "sinks.events.client.sasl.pasword: the Kafka client has no such setting");
  const std::string bad = problem("security.protocol=hunter2");
  EXPECT_EQ(bad.rfind("sinks.events.client.security.protocol: ", 0), 0u);
  EXPECT_EQ(bad.find("hunter2"), std::string::npos);
}

TEST(ClientSettings, OthersReachTheClient) {
  const Result<ClientSettings> settings =
      read({{"client", "client.id=shop,security.protocol=sasl_ssl,sasl.password=p"}, {"compression", "lz4"}});
  ASSERT_TRUE(settings) << settings.failure().what;
  const Result<ConfHandle> conf = producer_conf(*settings, kBatchBytes);
  ASSERT_TRUE(conf);
  EXPECT_EQ(value_of(conf->get(), "client.id"), "shop");
  EXPECT_EQ(value_of(conf->get(), "security.protocol"), "sasl_ssl");
  EXPECT_EQ(value_of(conf->get(), "compression.type"), "lz4");
}

TEST(ClientSettings, ATopicsLimitWinsOverTheUsersBatchSize) {
  const Result<ClientSettings> settings = read({{"client", "batch.size=2000000"}});
  ASSERT_TRUE(settings);
  EXPECT_EQ(value_of(producer_conf(*settings, kBatchBytes)->get(), "batch.size"), "2000000");
  EXPECT_EQ(value_of(producer_conf(*settings, 10'000)->get(), "batch.size"), "10000");
}

TEST(ClientSettings, TheClientsQueueHoldsMoreThanTheWindow) {
  const Result<ClientSettings> settings = read({{"payload_max", "64MB"}});
  ASSERT_TRUE(settings);
  EXPECT_GE(window_bytes(*settings), settings->payload_max);
  const Result<ConfHandle> conf = producer_conf(*settings, kBatchBytes);
  EXPECT_GT(std::stoull(value_of(conf->get(), "queue.buffering.max.kbytes")) * 1024, window_bytes(*settings));
  EXPECT_GT(std::stoull(value_of(conf->get(), "queue.buffering.max.messages")), kWindowMessages);
  EXPECT_GT(std::stoull(value_of(conf->get(), "message.max.bytes")), settings->payload_max);
}

TEST(KafkaSinkType, NamesItsTopicAndItsDefault) {
  const SinkType type = kafka_sink();
  EXPECT_EQ(type.name, "kafka");
  EXPECT_EQ(type.address_option, "topic");
  const config::Values options = config::parse_values(type.options, {{"brokers", "a:1,b:2"}});
  EXPECT_EQ(type.default_address(options), "outbox.event.{aggregate_type}");
  const Result<std::unique_ptr<Sink>> sink = type.create("events", options);
  ASSERT_TRUE(sink);
  EXPECT_TRUE((*sink)->capabilities().pipelines_key);
}

}  // namespace
}  // namespace outbox::kafka
