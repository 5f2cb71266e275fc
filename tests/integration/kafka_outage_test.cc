// The Kafka sink while the real Kafka dies and comes back with the same data.
#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>

#include "conformance/sink_pump.h"
#include "integration/kafka_fixture.h"
#include "support/eventually.h"
#include "support/fault_proxy.h"

namespace outbox::test {
namespace {

using namespace std::chrono_literals;

class KafkaOutage : public KafkaFixture {};

constexpr int kKeys = 50;
constexpr int kMessages = 100'000;  // several windows

// First arrivals of each key, as message numbers.
std::map<std::string, std::vector<int>> first_arrivals(const std::vector<KafkaMessage>& messages) {
  std::map<std::string, std::vector<int>> keys;
  std::set<std::string> seen;
  for (const KafkaMessage& message : messages) {
    const std::string id = message.header("message-id");
    if (seen.insert(id).second) keys[*message.key].push_back(std::stoi(id.substr(2)));
  }
  return keys;
}

// kill -9 under load, three times at other moments.
TEST_F(KafkaOutage, KilledUnderLoadItLosesNothingAndKeepsTheOrderOfEachKey) {
  KafkaTopic topic(brokers_, "killed", 4);
  open();
  sink_->close();
  SinkPump pump(*sink_, topic.name());
  ASSERT_TRUE(sink_->open(pump));
  for (int i = 0; i < kMessages; ++i) {
    pump.add(std::make_shared<const Record>(make_record(i, "key-" + std::to_string(i % kKeys),
                                                        "{\"n\":" + std::to_string(i) + std::string(500, ' ') + "}")));
  }
  std::size_t next_kill = kMessages / 10;
  int kills = 0;
  ASSERT_TRUE(pump.run(300s, [&](std::size_t done) {
    if (kills == 3 || done < next_kill || done == kMessages) return;
    kill_service(Service::kafka);
    start_service(Service::kafka);
    ++kills;
    next_kill = done + kMessages / 5;
  }));
  EXPECT_EQ(kills, 3);
  EXPECT_EQ(pump.delivered(), static_cast<std::size_t>(kMessages));
  EXPECT_TRUE(pump.violations().empty()) << pump.violations().front();
  const auto messages = topic.read();
  const auto keys = first_arrivals(messages);
  EXPECT_EQ(keys.size(), static_cast<std::size_t>(kKeys));
  for (const auto& [key, numbers] : keys) {
    EXPECT_EQ(numbers.size(), static_cast<std::size_t>(kMessages / kKeys)) << key;
    EXPECT_TRUE(std::ranges::is_sorted(numbers)) << key;
  }
  RecordProperty("duplicates", static_cast<int>(messages.size()) - kMessages);
  sink_->close();
}

// Case B121. The broker stores what it is sent and its answers are lost: the client sends it again, and the broker
// knows it by the producer's sequence.
TEST_F(KafkaOutage, LostAnswersMakeNoDuplicateAndNoDisorder) {
  const char* proxied = std::getenv("OUTBOX_KAFKA_PROXIED");  // a listener for clients that come by the next port
  ASSERT_NE(proxied, nullptr);
  KafkaTopic topic(brokers_, "lost");
  FaultProxy proxy(port_in(proxied), port_in(proxied) + 1);
  open({{"brokers", "127.0.0.1:" + std::to_string(proxy.port())}, {"client", "batch.num.messages=5"}});
  ASSERT_EQ(send(make_record(0, "K"), topic.name()).verdict, Verdict::delivered);
  proxy.set({.drop_answers = true});
  std::vector<Record> records;
  for (int i = 1; i <= 100; ++i) records.push_back(make_record(i, "K"));
  const auto ids = publish_all(std::move(records), topic.name());
  EXPECT_TRUE(eventually(30s, [&] { return topic.count() > 1; }));
  proxy.cut();
  proxy.set({});
  for (const DeliveryId id : ids) EXPECT_EQ(log_.wait_for(id).verdict, Verdict::delivered);
  const auto messages = topic.read();
  ASSERT_EQ(messages.size(), 101u);
  for (std::size_t i = 0; i < messages.size(); ++i) {
    EXPECT_EQ(messages[i].header("message-id"), "m-" + std::to_string(i));
  }
}

// Longer than the sink's patience: everything comes back, one probe stays, and delivers once Kafka is there again.
TEST_F(KafkaOutage, AwayForLongItIsSaidOnceAndTheProbeFindsItAgain) {
  KafkaTopic topic(brokers_, "away");
  open();
  ASSERT_EQ(send(make_record(0, "a"), topic.name()).verdict, Verdict::delivered);
  stop_service(Service::kafka);
  for (const DeliveryId id :
       publish_all({make_record(1, "a"), make_record(2, "a"), make_record(3, "b")}, topic.name())) {
    const Outcome outcome = log_.wait_for(id);
    EXPECT_EQ(outcome.verdict, Verdict::busy) << outcome.reason;
    EXPECT_EQ(outcome.scope, Scope::sink);
    EXPECT_EQ(outcome.reason, "brokers_down");
  }
  DeliveryId probe = 0;
  while (probe == 0) {
    const DeliveryId id = publish(make_record(1, "a"), topic.name());
    if (log_.wait_for(id, 100ms).reason == "no outcome") probe = id;
  }
  start_service(Service::kafka);
  EXPECT_EQ(log_.wait_for(probe).verdict, Verdict::delivered);
  for (const DeliveryId id : publish_all({make_record(2, "a"), make_record(3, "b")}, topic.name())) {
    EXPECT_EQ(log_.wait_for(id).verdict, Verdict::delivered);
  }
  std::vector<std::string> ids;
  for (const KafkaMessage& message : topic.read()) ids.push_back(message.header("message-id"));
  EXPECT_EQ(ids, (std::vector<std::string>{"m-0", "m-1", "m-2", "m-3"}));
}

}  // namespace
}  // namespace outbox::test
