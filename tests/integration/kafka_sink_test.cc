// The Kafka sink on a real Kafka: what stands in the topic.
#include <random>

#include "integration/kafka_fixture.h"

namespace outbox::test {
namespace {

class KafkaSinkTest : public KafkaFixture {};

std::string random_bytes(std::size_t size) {
  std::mt19937 random(7);
  std::string bytes(size, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random() & 0xff);
  return bytes;
}

TEST_F(KafkaSinkTest, AMessageArrivesAsTheInterfaceSays) {
  KafkaTopic topic(brokers_, "wire");
  open();
  Record record = make_record(1, "o-1", R"({"total":  1.50})");
  record.headers = R"({"tenant":"t1","tag":["a","b"],"bad":"a\r\nX-Admin: 1"})";
  record.aggregate_version = 7;
  record.traceparent = "00-1-2-01";
  const Outcome outcome = send(record, topic.name());
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

// Cases B087 and B125: where Java producers put these keys.
TEST_F(KafkaSinkTest, KeysGoToThePartitionsThatJavaProducersUse) {
  struct Case {
    const char* key;
    int partitions;
    int expected;
  };
  const std::vector<Case> cases{{"order-2", 12, 3},
                                {"order-1", 12, 10},
                                {"cust-42", 12, 8},
                                {"foobar", 3, 0},
                                {"fd7af248-ce5c-46a5-93d7-1c0c9005b99d", 32, 26},
                                {"TT0124", 15, 10}};
  open();
  for (const Case& each : cases) {
    KafkaTopic topic(brokers_, "partitions", each.partitions);
    const Outcome outcome = send(make_record(1, each.key), topic.name());
    EXPECT_EQ(outcome.detail, topic.name() + "/" + std::to_string(each.expected) + "/0") << each.key;
    const std::vector<KafkaMessage> messages = topic.read();
    ASSERT_EQ(messages.size(), 1u);
    EXPECT_EQ(messages[0].partition, each.expected) << each.key;
  }
}

// Case B127.
TEST_F(KafkaSinkTest, AMessageAboveTheTopicsLimitIsRefusedAndHoldsNobody) {
  KafkaTopic topic(brokers_, "limit", 1, {{"max.message.bytes", "1000000"}});
  open();
  const auto ids = publish_all(
      {make_record(1, "k"), make_record(2, "k", random_bytes(1'000'001)), make_record(3, "k"), make_record(4, "other")},
      topic.name());
  for (const std::size_t good : {0u, 2u, 3u}) EXPECT_EQ(log_.wait_for(ids[good]).verdict, Verdict::delivered);
  const Outcome large = log_.wait_for(ids[1]);
  EXPECT_EQ(large.verdict, Verdict::rejected);
  EXPECT_EQ(large.reason, "too_large");
  EXPECT_NE(large.detail.find("1000000"), std::string::npos) << large.detail;
  EXPECT_EQ(topic.count(), 3);
}

// The size that is checked is the one that the broker checks, to the byte.
TEST_F(KafkaSinkTest, TheLargestMessageThatATopicTakesIsTaken) {
  constexpr std::size_t kLimit = 20'000;
  KafkaTopic topic(brokers_, "exact", 1, {{"max.message.bytes", std::to_string(kLimit)}});
  open();
  std::size_t size = kLimit;
  Outcome outcome;
  do {
    outcome = send(make_record(1, "k", random_bytes(--size)), topic.name());
    EXPECT_EQ(outcome.detail.find("MSG_SIZE_TOO_LARGE"), std::string::npos) << "the broker's word, not the sink's";
  } while (outcome.verdict == Verdict::rejected && size > kLimit / 2);
  EXPECT_EQ(outcome.verdict, Verdict::delivered) << outcome.reason << ": " << outcome.detail;
  EXPECT_EQ(topic.count(), 1);
}

// Batches are made no larger than the topic takes, though each message alone would fit.
TEST_F(KafkaSinkTest, BatchesKeepToATopicsSmallLimit) {
  KafkaTopic usual(brokers_, "usual");
  KafkaTopic small(brokers_, "small", 1, {{"max.message.bytes", "20000"}});
  open({{"linger", "50ms"}});
  ASSERT_EQ(send(make_record(0, "k"), usual.name()).verdict, Verdict::delivered);
  std::vector<Record> records;
  for (int i = 0; i < 500; ++i) records.push_back(make_record(i, "k", random_bytes(1000)));
  for (const DeliveryId id : publish_all(records, small.name())) {
    const Outcome outcome = log_.wait_for(id);
    ASSERT_EQ(outcome.verdict, Verdict::delivered) << outcome.reason << ": " << outcome.detail;
  }
  const std::vector<KafkaMessage> messages = small.read();
  ASSERT_EQ(messages.size(), 500u);
  for (std::size_t i = 0; i < messages.size(); ++i) EXPECT_EQ(messages[i].header("message-id"), records[i].id);
}

// A batch that the broker refuses while others are in flight: whatever has come through has no hole. The limit is
// lowered behind the sink's back, so that it cannot refuse the message itself.
TEST_F(KafkaSinkTest, NothingPassesABatchThatWasRefused) {
  KafkaTopic topic(brokers_, "hole");
  open({{"client", "batch.num.messages=20"}});
  ASSERT_EQ(send(make_record(0, "k"), topic.name()).verdict, Verdict::delivered);
  topic.alter({{"max.message.bytes", "30000"}});
  std::vector<Record> records;
  for (int i = 1; i <= 4000; ++i) records.push_back(make_record(i, "k", random_bytes(i == 1000 ? 100'000 : 100)));
  const auto ids = publish_all(records, topic.name());
  std::size_t delivered = 0;
  for (const DeliveryId id : ids) {
    const Verdict verdict = log_.wait_for(id).verdict;
    EXPECT_TRUE(verdict == Verdict::delivered || verdict == Verdict::client_dead);
    delivered += verdict == Verdict::delivered;
  }
  EXPECT_LT(delivered, 1000u);
  const std::vector<KafkaMessage> messages = topic.read();
  EXPECT_LE(messages.size(), 1000u);
  for (std::size_t i = 0; i < messages.size(); ++i) {
    ASSERT_EQ(messages[i].header("message-id"), "m-" + std::to_string(i));
  }
  ASSERT_TRUE(sink_->reopen());
  for (std::size_t i = messages.size(); i < 999; ++i) {
    ASSERT_EQ(send(records[i - 1], topic.name()).verdict, Verdict::delivered) << i;
  }
}

// Case B129.
TEST_F(KafkaSinkTest, IllegalTopicNamesAreRefusedAndHoldNobody) {
  KafkaTopic topic(brokers_, "legal");
  open();
  std::vector<DeliveryId> bad;
  for (const std::string& name : {topic.name() + " ", std::string("a/b"), std::string("."), std::string(250, 'x')}) {
    EXPECT_EQ(send(make_record(1, "k"), topic.name()).verdict, Verdict::delivered);
    bad.push_back(publish(make_record(2, "k"), name));
  }
  for (const DeliveryId id : bad) {
    EXPECT_EQ(log_.wait_for(id).verdict, Verdict::rejected);
    EXPECT_EQ(log_.wait_for(id).reason, "invalid_topic");
  }
  EXPECT_EQ(topic.count(), 4);
}

TEST_F(KafkaSinkTest, ATopicThatIsMadeLaterGetsItsMessages) {
  KafkaTopic other(brokers_, "there");
  const std::string name = other.name() + ".later";
  open({{"client", "allow.auto.create.topics=false"}});
  const Outcome missing = send(make_record(1, "k"), name);
  EXPECT_EQ(missing.verdict, Verdict::busy);
  EXPECT_EQ(missing.scope, Scope::destination);
  EXPECT_EQ(missing.reason, "unknown_topic");
  EXPECT_EQ(send(make_record(2, "l"), other.name()).verdict, Verdict::delivered);
  create_topic(brokers_, name, 1);
  while (send(make_record(1, "k"), name).verdict != Verdict::delivered) {
  }
  EXPECT_EQ(count_topic(brokers_, name), 1);
  delete_topic(brokers_, name);
}

// Case B131.
TEST_F(KafkaSinkTest, NullEmptyAndTheWordNullAreThreeThings) {
  KafkaTopic topic(brokers_, "null");
  Record null = make_record(1, "k", "");
  null.payload_null = true;
  open();
  const Outcome refused = send(null, topic.name());
  EXPECT_EQ(refused.verdict, Verdict::rejected);
  EXPECT_EQ(refused.reason, "null_payload");
  EXPECT_EQ(send(make_record(2, "k", ""), topic.name()).verdict, Verdict::delivered);
  EXPECT_EQ(send(make_record(3, "k", "null"), topic.name()).verdict, Verdict::delivered);
  sink_->close();
  open({{"null_payload", "tombstone"}});
  EXPECT_EQ(send(null, topic.name()).verdict, Verdict::delivered);
  const std::vector<KafkaMessage> messages = topic.read();
  ASSERT_EQ(messages.size(), 3u);
  EXPECT_EQ(messages[0].value, "");
  EXPECT_EQ(messages[1].value, "null");
  EXPECT_EQ(messages[2].value, std::nullopt);
  EXPECT_EQ(messages[2].key, "k");
}

TEST_F(KafkaSinkTest, EveryCompressionIsRead) {
  for (const char* compression : {"gzip", "snappy", "lz4", "zstd"}) {
    KafkaTopic topic(brokers_, compression);
    open({{"compression", compression}});
    std::vector<Record> records;
    for (int i = 0; i < 50; ++i) records.push_back(make_record(i, "k", std::string(500, 'x')));
    for (const DeliveryId id : publish_all(records, topic.name())) {
      ASSERT_EQ(log_.wait_for(id).verdict, Verdict::delivered) << compression;
    }
    sink_->close();
    const std::vector<KafkaMessage> messages = topic.read();
    ASSERT_EQ(messages.size(), 50u) << compression;
    EXPECT_EQ(messages[49].value, std::string(500, 'x'));
  }
}

}  // namespace
}  // namespace outbox::test
