// What the Kafka sink makes of every kind of failure, on the mock cluster.
#include <gtest/gtest.h>

#include <algorithm>

#include "sink/kafka/kafka_sink.h"
#include "sink/kafka/pipeline.h"
#include "support/completion_log.h"
#include "support/eventually.h"
#include "support/fault_proxy.h"
#include "support/kafka_mock.h"
#include "support/kafka_topic.h"

namespace outbox::test {
namespace {

using namespace std::chrono_literals;

class KafkaFaults : public ::testing::Test {
 protected:
  void SetUp() override {
    mock_.create_topic("orders", 1);
    mock_.create_topic("other", 1);
  }
  void TearDown() override {
    if (sink_) sink_->close();
    EXPECT_EQ(log_.completed_twice(), 0u);
  }

  void open(kafka::Patience patience = {}) { open_at(mock_.brokers(), patience); }
  void open_at(const std::string& brokers, kafka::Patience patience) {
    const SinkType type = kafka_sink();
    const auto options = config::parse_values(type.options, {{"brokers", brokers}, {"linger", "20ms"}});
    auto settings = kafka::read_settings("events", options);
    ASSERT_TRUE(settings);
    sink_ = std::make_unique<kafka::Pipeline>(std::move(*settings), patience);
    ASSERT_TRUE(sink_->open(log_));
  }

  // One call, as the relay does it: "a1" is message a1 of key a.
  std::vector<DeliveryId> publish(const std::vector<std::string>& names, const std::string& topic = "orders") {
    std::vector<Publication> batch;
    std::vector<DeliveryId> ids;
    for (const std::string& name : names) {
      Record record = make_record(0, name.substr(0, 1), "\"" + name + "\"");
      record.id = name;
      batch.push_back(publication(++last_id_, std::move(record), topic));
      ids.push_back(last_id_);
    }
    sink_->publish(batch);
    return ids;
  }

  Outcome send(const std::string& name, const std::string& topic = "orders") {
    return log_.wait_for(publish({name}, topic).front());
  }
  std::vector<Verdict> verdicts(const std::vector<DeliveryId>& ids) {
    std::vector<Verdict> all;
    for (const DeliveryId id : ids) all.push_back(log_.wait_for(id).verdict);
    return all;
  }
  std::vector<std::string> topic(const std::string& name = "orders") {
    std::vector<std::string> ids;
    for (const KafkaMessage& message : read_topic(mock_.brokers(), name)) ids.push_back(message.header("message-id"));
    return ids;
  }
  DeliveryId await_probe(const std::string& name) {
    for (;;) {
      const DeliveryId id = publish({name}).front();
      if (log_.wait_for(id, 100ms).reason == "no outcome") return id;
    }
  }
  // The sink has produced to the topic once.
  void warm_up() { ASSERT_EQ(send("w0").verdict, Verdict::delivered); }

  KafkaMock mock_;
  CompletionLog log_;
  std::unique_ptr<Sink> sink_;
  DeliveryId last_id_ = 0;
};

using Names = std::vector<std::string>;

TEST_F(KafkaFaults, WhatTheClientRetriesItselfIsNotSeen) {
  open();
  warm_up();
  mock_.fail_produce({RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION, RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS,
                      RD_KAFKA_RESP_ERR__TRANSPORT, RD_KAFKA_RESP_ERR_KAFKA_STORAGE_ERROR});
  const auto ids = publish({"a1", "a2", "b1", "a3"});
  EXPECT_EQ(verdicts(ids), std::vector<Verdict>(4, Verdict::delivered));
}

TEST_F(KafkaFaults, ABatchThatFailsComesBackWholeAndTheCulpritDiesAlone) {
  open();
  warm_up();
  mock_.fail_produce({RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE});
  const auto ids = publish({"a1", "a2", "b1", "a3"});
  EXPECT_EQ(verdicts(ids), std::vector<Verdict>(4, Verdict::client_dead));
  EXPECT_EQ(send("a4").verdict, Verdict::client_dead) << "before reopen() nothing passes";
  EXPECT_EQ(topic(), Names{"w0"});

  ASSERT_TRUE(sink_->reopen());
  EXPECT_EQ(send("a1").verdict, Verdict::delivered);
  mock_.fail_produce({RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE});
  const Outcome culprit = send("a2");
  EXPECT_EQ(culprit.verdict, Verdict::rejected);
  EXPECT_EQ(culprit.reason, "too_large");
  EXPECT_EQ(verdicts(publish({"b1", "a3", "a4"})), std::vector<Verdict>(3, Verdict::delivered)) << "without reopen()";
  EXPECT_EQ(topic(), (Names{"w0", "a1", "b1", "a3", "a4"}));
}

TEST_F(KafkaFaults, ATopicThatMayNotBeWrittenToWaits) {
  open();
  warm_up();
  mock_.fail_produce({RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED});
  const Outcome outcome = send("a1");
  EXPECT_EQ(outcome.verdict, Verdict::busy);
  EXPECT_EQ(outcome.scope, Scope::destination);
  EXPECT_EQ(outcome.reason, "not_authorized");
  EXPECT_EQ(send("b1", "other").verdict, Verdict::delivered);
}

TEST_F(KafkaFaults, ATopicThatDoesNotExistWaitsAndHoldsNobody) {
  open({.settle = 50ms, .unknown_topic = 50ms});
  mock_.topic_error("orders", RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART);
  const Outcome outcome = send("a1");
  EXPECT_EQ(outcome.verdict, Verdict::busy);
  EXPECT_EQ(outcome.scope, Scope::destination);
  EXPECT_EQ(outcome.reason, "unknown_topic");
  EXPECT_EQ(send("b1", "other").verdict, Verdict::delivered);
  mock_.topic_error("orders", RD_KAFKA_RESP_ERR_NO_ERROR);
  while (send("a1").verdict != Verdict::delivered) {
  }
  EXPECT_EQ(topic(), Names{"a1"});
}

TEST_F(KafkaFaults, WhatTheRelaySentBeforeItHeardDoesNotOvertake) {
  open({.settle = 0ms, .unknown_topic = 0ms});
  mock_.topic_error("orders", RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART);
  EXPECT_EQ(send("a1").verdict, Verdict::busy);
  mock_.topic_error("orders", RD_KAFKA_RESP_ERR_NO_ERROR);
  EXPECT_EQ(send("a2").verdict, Verdict::busy);
  EXPECT_EQ(send("b1").verdict, Verdict::delivered);
  EXPECT_EQ(verdicts(publish({"a1", "a2", "a3"})), std::vector<Verdict>(3, Verdict::delivered));
  EXPECT_EQ(topic(), (Names{"b1", "a1", "a2", "a3"}));
}

TEST_F(KafkaFaults, AProducerThatLostItsPlaceIsGivenUp) {
  open();
  warm_up();
  for (const auto error : {RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER, RD_KAFKA_RESP_ERR_INVALID_PRODUCER_EPOCH}) {
    mock_.fail_produce({error});
    const auto ids = publish({"a1", "a2"});
    EXPECT_EQ(verdicts(ids), std::vector<Verdict>(2, Verdict::client_dead)) << rd_kafka_err2name(error);
    ASSERT_TRUE(sink_->reopen());
    EXPECT_EQ(verdicts(publish({"a1", "a2"})), std::vector<Verdict>(2, Verdict::delivered)) << rd_kafka_err2name(error);
  }
}

TEST_F(KafkaFaults, AnOutageGivesEverythingBackAndKeepsOneProbe) {
  open({.unreachable = 200ms, .settle = 50ms});
  warm_up();
  mock_.down();
  for (const DeliveryId id : publish({"a1", "a2", "b1"})) {
    const Outcome outcome = log_.wait_for(id);
    EXPECT_EQ(outcome.verdict, Verdict::busy);
    EXPECT_EQ(outcome.scope, Scope::sink);
    EXPECT_EQ(outcome.reason, "brokers_down");
    EXPECT_NE(outcome.detail.find("127.0.0.1"), std::string::npos) << outcome.detail;
  }
  const DeliveryId probe = await_probe("a1");
  EXPECT_EQ(send("a2").verdict, Verdict::busy) << "one probe, no more";
  mock_.up();
  EXPECT_EQ(log_.wait_for(probe).verdict, Verdict::delivered);
  EXPECT_EQ(verdicts(publish({"a2", "b1"})), std::vector<Verdict>(2, Verdict::delivered));
  EXPECT_EQ(topic(), (Names{"w0", "a1", "a2", "b1"}));
}

// Connections that one client may try in so many seconds: 100 ms to 5 s apart, less the jitter.
std::size_t backoff_steps(double seconds) {
  std::size_t count = 1;
  double wait = 0.075;
  for (double at = wait; at <= seconds; at += wait) {
    ++count;
    wait = std::min(2 * wait, 3.75);
  }
  return count;
}

TEST_F(KafkaFaults, ABrokerThatIsAwayIsTriedOnceAStepOfTheBackoff) {
  FaultProxy link(port_in(mock_.brokers()));
  link.set({.turn_away = true});
  const auto began = std::chrono::steady_clock::now();
  open_at("127.0.0.1:" + std::to_string(link.port()), {.unreachable = 200ms, .settle = 50ms});
  EXPECT_EQ(send("a1").verdict, Verdict::busy);  // from here on by another client
  const DeliveryId probe = await_probe("a1");
  EXPECT_FALSE(eventually(8s, [&] {
    const std::chrono::duration<double> away = std::chrono::steady_clock::now() - began;
    return link.attempts().size() > 2 * backoff_steps(away.count());
  })) << link.attempts().size();
  link.set({});
  EXPECT_EQ(log_.wait_for(probe).verdict, Verdict::delivered);
}

TEST_F(KafkaFaults, ATopicWithoutALeaderStallsAlone) {
  open({.stalled = 4000ms});
  warm_up();
  ASSERT_EQ(send("b0", "other").verdict, Verdict::delivered);
  mock_.leaderless("orders", 0);
  const DeliveryId stuck = publish({"a1"}).front();
  int sent = 0;
  while (!log_.outcome(stuck)) {
    const Outcome outcome = send("b" + std::to_string(++sent), "other");
    EXPECT_TRUE(outcome.verdict == Verdict::delivered || outcome.verdict == Verdict::client_dead) << outcome.reason;
    if (outcome.verdict == Verdict::client_dead) break;
  }
  const Outcome outcome = log_.wait_for(stuck);
  EXPECT_EQ(outcome.verdict, Verdict::busy) << outcome.detail;
  EXPECT_EQ(outcome.scope, Scope::destination);
  EXPECT_EQ(outcome.reason, "no_confirmation");
  ASSERT_TRUE(sink_->reopen());
  while (send("b" + std::to_string(sent), "other").verdict != Verdict::delivered) {
  }
}

TEST_F(KafkaFaults, ABrokerThatConfirmsNothingIsDown) {
  open({.stalled = 4000ms});
  warm_up();
  mock_.hold_produce();
  const Outcome outcome = send("a1");
  EXPECT_EQ(outcome.verdict, Verdict::busy);
  EXPECT_EQ(outcome.scope, Scope::sink);
  EXPECT_EQ(outcome.reason, "no_confirmation");
  mock_.release_produce();
}

// Cases B131 and B129, the sizes, the headers: refused before anything is sent, and nobody is held.
TEST_F(KafkaFaults, WhatCanNeverBeSentIsRejectedAtOnce) {
  open();
  Record null = make_record(1, "k");
  null.payload_null = true;
  Record headers = make_record(2, "k");
  headers.headers = R"({"tenant":7})";
  Record large = make_record(3, "k", std::string((16u << 20) + 1, 'x'));
  const std::vector<std::pair<Record, std::string>> bad{
      {null, "null_payload"}, {headers, "bad_headers"}, {large, "too_large"}};
  for (const auto& [record, reason] : bad) {
    const Publication one = publication(++last_id_, record, "orders");
    sink_->publish({&one, 1});
    const Outcome outcome = log_.wait_for(last_id_);
    EXPECT_EQ(outcome.verdict, Verdict::rejected) << reason;
    EXPECT_EQ(outcome.reason, reason);
  }
  for (const std::string& name :
       {std::string("orders "), std::string("a/b"), std::string("."), std::string(250, 'x')}) {
    const Outcome outcome = send("k1", name);
    EXPECT_EQ(outcome.verdict, Verdict::rejected) << name;
    EXPECT_EQ(outcome.reason, "invalid_topic");
  }
  EXPECT_EQ(send("k2").verdict, Verdict::delivered);
}

}  // namespace
}  // namespace outbox::test
