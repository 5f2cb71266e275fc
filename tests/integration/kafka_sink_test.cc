// The Kafka sink against a real Kafka.
#include <gtest/gtest.h>

#include "sink/kafka/kafka_sink.h"
#include "support/completion_log.h"
#include "support/kafka_topic.h"
#include "support/services.h"

namespace outbox::test {
namespace {

class KafkaSinkTest : public ::testing::Test {
 protected:
  void SetUp() override {
    OUTBOX_REQUIRE_SERVICE(address, Service::kafka);
    brokers_ = address;
  }

  void open(std::map<std::string, std::string> options = {}) {
    options.emplace("brokers", brokers_);
    const SinkType type = kafka_sink();
    Result<std::unique_ptr<Sink>> sink = type.create("events", config::parse_values(type.options, options));
    ASSERT_TRUE(sink) << sink.failure().what;
    sink_ = std::move(*sink);
    ASSERT_TRUE(sink_->open(log_));
  }

  DeliveryId publish(Record record, const std::string& topic) {
    const Publication one = publication(++last_id_, std::move(record), topic);
    sink_->publish({&one, 1});
    return last_id_;
  }

  std::string brokers_;
  CompletionLog log_;
  std::unique_ptr<Sink> sink_;
  DeliveryId last_id_ = 0;
};

TEST_F(KafkaSinkTest, AMessageArrivesAsTheInterfaceSays) {
  KafkaTopic topic(brokers_, "wire");
  open();
  Record record = make_record(1, "o-1", R"({"total":  1.50})");
  record.headers = R"({"tenant":"t1","tag":["a","b"],"bad":"a\r\nX-Admin: 1"})";
  record.aggregate_version = 7;
  record.traceparent = "00-1-2-01";
  const Outcome outcome = log_.wait_for(publish(record, topic.name()));
  EXPECT_EQ(outcome.verdict, Verdict::delivered) << outcome.detail;
  EXPECT_EQ(outcome.detail, topic.name() + "/0/0");
  const std::vector<KafkaMessage> messages = topic.read();
  ASSERT_EQ(messages.size(), 1u);
  EXPECT_EQ(messages[0].key, "o-1");
  EXPECT_EQ(messages[0].value, R"({"total":  1.50})");
  EXPECT_EQ(messages[0].timestamp_ms, 1'700'000'000'000);
  const std::vector<std::pair<std::string, std::string>> headers{
      {"message-id", "m-1"},
      {"message-type", "Placed"},
      {"aggregate-type", "order"},
      {"aggregate-id", "o-1"},
      {"content-type", "application/json"},
      {"aggregate-version", "7"},
      {"traceparent", "00-1-2-01"},
      {"tenant", "t1"},
      {"tag", "a"},
      {"tag", "b"},
      {"bad", "a\r\nX-Admin: 1"}};  // case B221: Kafka keeps the bytes
  EXPECT_EQ(messages[0].headers, headers);
}

}  // namespace
}  // namespace outbox::test
