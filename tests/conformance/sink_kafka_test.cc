// The sink conformance suite on Kafka: the real one, and the mock cluster for what a real one does not do on demand.
#include <map>

#include "conformance/sink_conformance.h"
#include "sink/kafka/kafka_sink.h"
#include "support/kafka_mock.h"
#include "support/kafka_topic.h"
#include "support/services.h"

namespace outbox::test {
namespace {

std::unique_ptr<Sink> make_kafka_sink(const std::string& brokers) {
  const SinkType type = kafka_sink();
  const std::map<std::string, std::string> options{
      {"brokers", brokers}, {"payload_max", "2MB"}, {"client", "allow.auto.create.topics=false"}};
  return type.create("events", config::parse_values(type.options, options)).value();
}

std::vector<Arrival> arrivals_in(const std::string& brokers, const std::string& topic) {
  std::vector<Arrival> all;
  for (const KafkaMessage& message : read_topic(brokers, topic)) {
    all.push_back({message.header("message-id"), message.key.value_or(""), message.value.value_or("")});
  }
  return all;
}

void spoil_headers(Record& record) { record.headers = R"({"tenant":7})"; }

class RealBench : public SinkBench {
 public:
  RealBench() : brokers_(*find_service(Service::kafka)), topic_(brokers_, "conformance", 3) {}

  std::unique_ptr<Sink> make_sink() override { return make_kafka_sink(brokers_); }
  std::string destination() const override { return topic_.name(); }
  std::vector<Arrival> arrived() override { return arrivals_in(brokers_, topic_.name()); }

  bool poison(Record& record) override {
    spoil_headers(record);
    return true;
  }
  bool outgrow(Record& record) override {  // above the broker's 1 MB, below payload_max
    record.payload.assign(1'100'000, 'x');
    return true;
  }
  std::string broken_destination() override { return topic_.name() + ".missing"; }

 private:
  std::string brokers_;
  KafkaTopic topic_;
};

class MockBench : public SinkBench {
 public:
  MockBench() {
    mock_.create_topic(destination(), 3);
    mock_.topic_error("forbidden", RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED);
  }

  std::unique_ptr<Sink> make_sink() override { return make_kafka_sink(mock_.brokers()); }
  std::string destination() const override { return "orders"; }
  std::vector<Arrival> arrived() override { return arrivals_in(mock_.brokers(), destination()); }

  bool poison(Record& record) override {
    spoil_headers(record);
    return true;
  }
  bool outgrow(Record& record) override {
    record.payload.assign((2u << 20) + 1, 'x');
    return true;
  }
  std::string broken_destination() override { return "forbidden"; }
  bool go_down() override {
    mock_.down();
    return true;
  }
  void come_up() override { mock_.up(); }
  bool hold() override {
    mock_.hold_produce();
    return true;
  }
  void let_go() override { mock_.release_produce(); }

 private:
  KafkaMock mock_;
};

std::vector<BenchType> bench_types() {
  std::vector<BenchType> types{{"kafka_mock", [] { return std::make_unique<MockBench>(); }}};
  if (find_service(Service::kafka)) types.push_back({"kafka", [] { return std::make_unique<RealBench>(); }});
  return types;
}

TEST(KafkaConformance, RunsOnARealKafka) { OUTBOX_REQUIRE_SERVICE(brokers, Service::kafka); }

INSTANTIATE_TEST_SUITE_P(Kafka, SinkConformance, testing::ValuesIn(bench_types()),
                         [](const auto& type) { return type.param.name; });

}  // namespace
}  // namespace outbox::test
