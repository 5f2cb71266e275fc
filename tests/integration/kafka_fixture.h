// A Kafka sink on the real Kafka.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sink/kafka/kafka_sink.h"
#include "support/completion_log.h"
#include "support/kafka_topic.h"
#include "support/services.h"

namespace outbox::test {

class KafkaFixture : public ::testing::Test {
 protected:
  void SetUp() override {
    OUTBOX_REQUIRE_SERVICE(address, Service::kafka);
    brokers_ = address;
  }
  void TearDown() override {
    if (sink_) sink_->close();
    EXPECT_EQ(log_.completed_twice(), 0u);
  }

  void open(CompletionListener& listener, std::map<std::string, std::string> options = {}) {
    options.emplace("brokers", brokers_);
    const SinkType type = kafka_sink();
    Result<std::unique_ptr<Sink>> sink = type.create("events", config::parse_values(type.options, options));
    ASSERT_TRUE(sink) << sink.failure().what;
    sink_ = std::move(*sink);
    ASSERT_TRUE(sink_->open(listener));
  }
  void open(std::map<std::string, std::string> options = {}) { open(log_, std::move(options)); }

  DeliveryId publish(Record record, const std::string& topic) {
    const Publication one = publication(++last_id_, std::move(record), topic);
    sink_->publish({&one, 1});
    return last_id_;
  }
  std::vector<DeliveryId> publish_all(std::vector<Record> records, const std::string& topic) {
    std::vector<Publication> batch;
    std::vector<DeliveryId> ids;
    for (Record& record : records) {
      batch.push_back(publication(++last_id_, std::move(record), topic));
      ids.push_back(last_id_);
    }
    sink_->publish(batch);
    return ids;
  }
  Outcome send(Record record, const std::string& topic) { return log_.wait_for(publish(std::move(record), topic)); }

  std::string brokers_;
  CompletionLog log_;
  std::unique_ptr<Sink> sink_;
  DeliveryId last_id_ = 0;
};

}  // namespace outbox::test
