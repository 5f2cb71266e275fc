// What the RabbitMQ sink makes of every kind of failure, on a real broker.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <map>
#include <set>

#include "sink/rabbitmq/client.h"
#include "sink/rabbitmq/rabbitmq_sink.h"
#include "support/completion_log.h"
#include "support/rabbitmq.h"
#include "support/rabbitmq_control.h"
#include "support/services.h"
#include "support/temp_dir.h"

namespace outbox::test {
namespace {

using namespace std::chrono_literals;

class RabbitMqFaults : public ::testing::Test {
 protected:
  void SetUp() override {
    OUTBOX_REQUIRE_SERVICE(url, Service::rabbitmq);
    url_ = url;
    declare("orders", QueueType::classic);
  }
  void TearDown() override {
    if (sink_) sink_->close();
    EXPECT_EQ(log_.completed_twice(), 0u);
    if (url_.empty()) return;
    RabbitClient client(url_);
    for (const std::string& name : declared_) {
      client.delete_queue(name);
      client.delete_exchange(name);
    }
  }

  // An exchange and a queue of that name, bound with the routing key Placed.
  void declare(const std::string& name, QueueType type, int max_length = 0) {
    RabbitClient client(url_);
    client.declare_exchange(name);
    client.declare_queue(name, type, max_length);
    client.bind(name, name, "Placed");
    declared_.push_back(name);
  }
  void open(rabbitmq::Patience patience = {}, std::map<std::string, std::string> options = {}) {
    options.emplace("url", url_);
    const SinkType type = rabbitmq_sink();
    auto settings = rabbitmq::read_settings("events", config::parse_values(type.options, options));
    ASSERT_TRUE(settings) << settings.failure().what;
    sink_ = std::make_unique<rabbitmq::Client>(std::move(*settings), patience);
    ASSERT_TRUE(sink_->open(log_));
  }

  DeliveryId publish(Record record, const std::string& destination = "orders/Placed") {
    const Publication one = publication(++last_id_, std::move(record), destination);
    sink_->publish({&one, 1});
    return one.id;
  }
  Outcome send(int number, const std::string& destination = "orders/Placed") {
    return log_.wait_for(publish(make_record(number, "k" + std::to_string(number)), destination));
  }
  std::vector<DeliveryId> publish_all(int from, int to, const std::string& destination = "orders/Placed") {
    std::vector<Publication> batch;
    std::vector<DeliveryId> ids;
    for (int number = from; number < to; ++number) {
      batch.push_back(publication(++last_id_, make_record(number, "k" + std::to_string(number)), destination));
      ids.push_back(last_id_);
    }
    sink_->publish(batch);
    return ids;
  }
  std::vector<std::string> taken(const std::string& queue = "orders") {
    std::vector<std::string> ids;
    for (const RabbitMessage& message : RabbitClient(url_).take(queue)) ids.push_back(message.message_id);
    return ids;
  }
  void expect_busy(const Outcome& outcome, Scope scope, const std::string& reason) {
    EXPECT_EQ(outcome.verdict, Verdict::busy) << outcome.reason << ": " << outcome.detail;
    EXPECT_EQ(outcome.scope, scope);
    EXPECT_EQ(outcome.reason, reason) << outcome.detail;
  }

  std::string url_;
  std::vector<std::string> declared_;
  CompletionLog log_;
  std::unique_ptr<Sink> sink_;
  DeliveryId last_id_ = 0;
};

using Names = std::vector<std::string>;

// Interface: "On the wire".
TEST_F(RabbitMqFaults, AMessageArrivesAsTheInterfaceSays) {
  open();
  Record record = make_record(1, "o-1", R"({"total":  1.50})");
  record.headers = R"({"tenant":"t1","tag":["a","b"],"bad":"a\r\nX-Admin: 1"})";
  const Outcome outcome = log_.wait_for(publish(record));
  EXPECT_EQ(outcome.verdict, Verdict::delivered) << outcome.detail;
  const auto messages = RabbitClient(url_).take("orders");
  ASSERT_EQ(messages.size(), 1u);
  const RabbitMessage& message = messages.front();
  EXPECT_EQ(message.exchange, "orders");
  EXPECT_EQ(message.routing_key, "Placed");
  EXPECT_EQ(message.body, R"({"total":  1.50})");
  EXPECT_EQ(message.message_id, "m-1");
  EXPECT_EQ(message.type, "Placed");
  EXPECT_EQ(message.content_type, "application/json");
  EXPECT_EQ(message.delivery_mode, 2);
  EXPECT_EQ(message.timestamp, 1'700'000'000u);
  const std::vector<std::pair<std::string, std::string>> headers{{"message-id", "m-1"},
                                                                 {"message-type", "Placed"},
                                                                 {"aggregate-type", "order"},
                                                                 {"aggregate-id", "o-1"},
                                                                 {"content-type", "application/json"},
                                                                 {"tenant", "t1"},
                                                                 {"tag[]", "a"},
                                                                 {"tag[]", "b"},
                                                                 {"bad", "a\r\nX-Admin: 1"}};  // case B221: kept
  EXPECT_EQ(message.headers, headers);
}

TEST_F(RabbitMqFaults, TheDefaultExchangeTakesTheNameOfAQueue) {
  open();
  EXPECT_EQ(send(1, "/orders").verdict, Verdict::delivered);
  EXPECT_EQ(taken(), Names{"m-1"});
}

// Case B133.
TEST_F(RabbitMqFaults, WhatNoQueueTakesIsNotDelivered) {
  open();
  expect_busy(send(1, "orders/Lost"), Scope::destination, "unroutable");
  const auto good = publish_all(2, 12);
  const auto bad = publish_all(12, 22, "orders/Lost");
  const auto large = publish(make_record(22, "k", std::string(300'000, 'x')), "orders/Lost");
  for (const DeliveryId id : good) EXPECT_EQ(log_.wait_for(id).verdict, Verdict::delivered);
  for (const DeliveryId id : bad) expect_busy(log_.wait_for(id), Scope::destination, "unroutable");
  expect_busy(log_.wait_for(large), Scope::destination, "unroutable");
  RabbitClient(url_).bind("orders", "orders", "Lost");
  EXPECT_EQ(send(1, "orders/Lost").verdict, Verdict::delivered);
  EXPECT_EQ(taken().size(), 11u);
}

// Case B135.
TEST_F(RabbitMqFaults, AMissingExchangeClosesItselfAlone) {
  open();
  std::vector<Publication> batch;
  for (int i = 1; i <= 40; ++i) {
    const std::string to = i % 4 == 1 ? "missing-" + std::to_string(i % 8) + "/Placed" : "orders/Placed";
    batch.push_back(publication(++last_id_, make_record(i, "k" + std::to_string(i)), to));
  }
  sink_->publish(batch);
  for (DeliveryId id = 1; id <= 40; ++id) {
    const Outcome outcome = log_.wait_for(id);
    if (id % 4 == 1) {
      expect_busy(outcome, Scope::destination, "no_exchange");
      EXPECT_NE(outcome.detail.find("missing-"), std::string::npos) << outcome.detail;
    } else {
      EXPECT_EQ(outcome.verdict, Verdict::delivered) << outcome.reason << ": " << outcome.detail;
    }
  }
  EXPECT_EQ(taken().size(), 30u) << "each once: nothing that was in flight had to be sent again";
  declare("missing-1", QueueType::classic);
  EXPECT_EQ(send(41, "missing-1/Placed").verdict, Verdict::delivered) << "made later, it is used";
}

TEST_F(RabbitMqFaults, AnExchangeThatMayNotBeWrittenToClosesItselfAlone) {
  rabbitmqctl({"add_user", "reader", "reader"});
  rabbitmqctl({"set_permissions", "reader", "", "^orders$", ".*"});
  std::string url = url_;
  url.replace(url.find("guest:guest"), 11, "reader:reader");
  open({}, {{"url", url}});
  expect_busy(send(1, "amq.topic/Placed"), Scope::destination, "access_refused");
  EXPECT_EQ(send(2).verdict, Verdict::delivered);
  sink_->close();
  rabbitmqctl({"delete_user", "reader"});
}

TEST_F(RabbitMqFaults, WrongCredentialsAreTheSinks) {
  std::string url = url_;
  url.replace(url.find("guest:guest"), 11, "guest:hunter2");
  open({}, {{"url", url}});
  const Outcome outcome = send(1);
  expect_busy(outcome, Scope::sink, "access_refused");
  EXPECT_EQ(outcome.detail.find("hunter2"), std::string::npos);
}

// The exchange goes away while it is in use: the channel with everything on it is lost, and found again.
TEST_F(RabbitMqFaults, AnExchangeThatIsDeletedMeanwhile) {
  declare("other", QueueType::classic);
  open();
  EXPECT_EQ(send(1).verdict, Verdict::delivered);
  EXPECT_EQ(send(2, "other/Placed").verdict, Verdict::delivered);
  RabbitClient(url_).delete_exchange("other");
  expect_busy(send(3, "other/Placed"), Scope::destination, "no_exchange");  // alone: it is to blame
  EXPECT_EQ(send(4).verdict, Verdict::delivered) << "without reopen()";

  RabbitClient(url_).declare_exchange("other");
  RabbitClient(url_).bind("other", "other", "Placed");
  EXPECT_EQ(send(5, "other/Placed").verdict, Verdict::delivered);
  RabbitClient(url_).delete_exchange("other");
  const pid_t broker = service_pid(Service::rabbitmq);
  ::kill(broker, SIGSTOP);
  const auto several = publish_all(6, 9);
  const auto gone = publish_all(9, 11, "other/Placed");
  ::kill(broker, SIGCONT);
  std::vector<int> again;
  for (const DeliveryId id : several) {
    const Outcome outcome = log_.wait_for(id);
    if (outcome.verdict != Verdict::delivered) again.push_back(static_cast<int>(6 + (id - several.front())));
    EXPECT_TRUE(outcome.verdict == Verdict::delivered || outcome.verdict == Verdict::client_dead) << outcome.reason;
  }
  for (const DeliveryId id : gone) EXPECT_NE(log_.wait_for(id).verdict, Verdict::delivered);
  if (log_.wait_for(gone.front()).verdict == Verdict::client_dead) {
    EXPECT_EQ(send(11).verdict, Verdict::client_dead) << "before reopen() nothing passes";
    ASSERT_TRUE(sink_->reopen());
  }
  for (const int number : again) EXPECT_EQ(send(number).verdict, Verdict::delivered);
  expect_busy(send(9, "other/Placed"), Scope::destination, "no_exchange");
  RabbitClient(url_).declare_exchange("other");
}

// Case B143.
TEST_F(RabbitMqFaults, AFullQueueRefusesAndIsToldAsItsOwnFault) {
  declare("small", QueueType::classic, 10);
  open();
  std::size_t delivered = 0;
  for (const DeliveryId id : publish_all(0, 15, "small/Placed")) {
    const Outcome outcome = log_.wait_for(id);
    if (outcome.verdict == Verdict::delivered) {
      ++delivered;
    } else {
      expect_busy(outcome, Scope::destination, "nack");
    }
  }
  EXPECT_GE(delivered, 10u);
  EXPECT_EQ(RabbitClient(url_).count("small"), delivered);
  taken("small");
  EXPECT_EQ(send(15, "small/Placed").verdict, Verdict::delivered);
}

TEST_F(RabbitMqFaults, AMessageThatTheBrokerFindsTooLargeIsRefusedAlone) {
  open();
  EXPECT_EQ(send(1).verdict, Verdict::delivered);
  const Outcome outcome = log_.wait_for(publish(make_record(2, "k", std::string(5u << 20, 'x'))));
  EXPECT_EQ(outcome.verdict, Verdict::rejected) << outcome.reason;
  EXPECT_EQ(outcome.reason, "too_large");
  EXPECT_EQ(send(3).verdict, Verdict::delivered) << "without reopen()";
  EXPECT_EQ(taken(), (Names{"m-1", "m-3"}));
}

TEST_F(RabbitMqFaults, WhatCanNeverBeSentIsRejectedAtOnce) {
  open();
  Record null = make_record(1, "k");
  null.payload_null = true;
  Record large = make_record(2, "k", std::string((16u << 20) + 1, 'x'));
  Record routed = make_record(3, "k");
  routed.headers = R"({"CC":["orders"]})";
  const std::vector<std::pair<Record, std::string>> bad{
      {null, "null_payload"}, {large, "too_large"}, {routed, "bad_headers"}};
  for (const auto& [record, reason] : bad) {
    const Outcome outcome = log_.wait_for(publish(record));
    EXPECT_EQ(outcome.verdict, Verdict::rejected) << reason;
    EXPECT_EQ(outcome.reason, reason);
  }
  EXPECT_EQ(send(4, "orders/" + std::string(256, 'a')).reason, "routing_key_too_long");
  EXPECT_EQ(send(5, "orders").reason, "invalid_address");
  EXPECT_EQ(send(6).verdict, Verdict::delivered);
  EXPECT_EQ(taken(), Names{"m-6"});
}

// Case B139: a memory alarm.
TEST_F(RabbitMqFaults, ABlockedBrokerIsWaitedForWithoutSendingTwice) {
  open({.blocked = 500ms});
  EXPECT_EQ(send(0).verdict, Verdict::delivered);
  rabbitmqctl({"set_vm_memory_high_watermark", "absolute", "10MB"});
  std::vector<DeliveryId> ids = publish_all(1, 100);
  std::size_t blocked = 0;
  for (const DeliveryId id : ids) {
    const Outcome outcome = log_.wait_for(id);
    if (outcome.verdict == Verdict::delivered) continue;
    expect_busy(outcome, Scope::sink, "blocked");
    EXPECT_NE(outcome.detail.find("memory"), std::string::npos) << outcome.detail;
    ++blocked;
  }
  EXPECT_GT(blocked, 0u);
  expect_busy(send(100), Scope::sink, "blocked");
  rabbitmqctl({"set_vm_memory_high_watermark", "absolute", "1GiB"});
  for (int number = 1; number <= 100; ++number) {
    if (number < 100 && log_.wait_for(ids[static_cast<std::size_t>(number - 1)]).verdict == Verdict::delivered)
      continue;
    while (send(number).verdict != Verdict::delivered) {
    }
  }
  EXPECT_EQ(taken().size(), 101u) << "each once";
}

TEST_F(RabbitMqFaults, ABlockedBrokerHoldsNoStop) {
  open({.blocked = 60s});
  EXPECT_EQ(send(0).verdict, Verdict::delivered);
  rabbitmqctl({"set_vm_memory_high_watermark", "absolute", "10MB"});
  std::vector<Publication> batch;
  for (int i = 0; i < 12; ++i) {
    batch.push_back(
        publication(++last_id_, make_record(i, "k" + std::to_string(i), std::string(1u << 20, 'x')), "orders/Placed"));
  }
  sink_->publish(batch);  // more than the socket takes
  EXPECT_EQ(log_.wait_for(last_id_, 2s).reason, "no outcome");
  sink_->close();
  EXPECT_EQ(log_.count(), 13u);
  EXPECT_EQ(log_.wait_for(last_id_).reason, "closed");
  rabbitmqctl({"set_vm_memory_high_watermark", "absolute", "1GiB"});
}

TEST_F(RabbitMqFaults, WhatIsNotConfirmedInTimeIsGivenBackAndNotSentTwice) {
  open({.confirm = 200ms});
  EXPECT_EQ(send(0).verdict, Verdict::delivered);
  const pid_t broker = service_pid(Service::rabbitmq);
  ::kill(broker, SIGSTOP);
  for (const DeliveryId id : publish_all(1, 30)) expect_busy(log_.wait_for(id), Scope::destination, "no_confirmation");
  const auto again = publish_all(1, 10);
  ::kill(broker, SIGCONT);
  for (int number = 1; number < 30; ++number) {
    if (number < 10 && log_.wait_for(again[static_cast<std::size_t>(number - 1)]).verdict == Verdict::delivered)
      continue;
    while (send(number).verdict != Verdict::delivered) {
    }
  }
  EXPECT_EQ(taken().size(), 30u) << "each once";
}

TEST_F(RabbitMqFaults, ABrokerThatTakesNoBytesIsGivenUp) {
  open({.write = 500ms});
  EXPECT_EQ(send(0).verdict, Verdict::delivered);
  const pid_t broker = service_pid(Service::rabbitmq);
  ::kill(broker, SIGSTOP);
  std::vector<DeliveryId> ids;
  for (int i = 1; i < 9; ++i)
    ids.push_back(publish(make_record(i, "k" + std::to_string(i), std::string(4u << 20, 'x'))));
  for (const DeliveryId id : ids) expect_busy(log_.wait_for(id), Scope::sink, "blocked");
  ::kill(broker, SIGCONT);
}

TEST_F(RabbitMqFaults, AStoppedBrokerIsFoundByItsMissingHeartbeats) {
  open({}, {{"heartbeat", "1s"}});
  EXPECT_EQ(send(0).verdict, Verdict::delivered);
  const pid_t broker = service_pid(Service::rabbitmq);
  ::kill(broker, SIGSTOP);
  const DeliveryId id = publish(make_record(1, "k"));
  expect_busy(log_.wait_for(id), Scope::sink, "heartbeat_lost");
  ::kill(broker, SIGCONT);
  while (send(1).verdict != Verdict::delivered) {
  }
}

TEST_F(RabbitMqFaults, AStoppedBrokerHoldsNoStop) {
  for (const bool connected : {true, false}) {
    open();
    if (connected) {
      EXPECT_EQ(send(0).verdict, Verdict::delivered);
    }
    const pid_t broker = service_pid(Service::rabbitmq);
    ::kill(broker, SIGSTOP);
    const auto ids = publish_all(1, 50);
    EXPECT_EQ(log_.wait_for(ids.front(), 300ms).reason, "no outcome");
    sink_->close();
    for (const DeliveryId id : ids) EXPECT_EQ(log_.wait_for(id).reason, "closed");
    ::kill(broker, SIGCONT);
  }
}

// A heartbeat of ours that does not come would make the broker end the connection.
TEST_F(RabbitMqFaults, AnIdleConnectionIsKept) {
  open({}, {{"heartbeat", "1s"}});
  EXPECT_EQ(send(0).verdict, Verdict::delivered);
  EXPECT_EQ(log_.wait_for(99, 5s).reason, "no outcome");  // five heartbeats of nothing
  const std::string connections = rabbitmqctl({"-q", "list_connections", "client_properties"});
  EXPECT_NE(connections.find("outboxd events"), std::string::npos) << connections;
  EXPECT_EQ(send(1).verdict, Verdict::delivered);
}

TEST_F(RabbitMqFaults, NothingConfirmedIsLostWhenTheBrokerIsKilled) {
  for (const QueueType type : {QueueType::classic, QueueType::quorum}) {
    const std::string name = (type == QueueType::classic ? "classic-" : "quorum-") + std::to_string(::getpid());
    declare(name, type);
    save_declarations();
    open();
    ASSERT_EQ(send(0, name + "/Placed").verdict, Verdict::delivered);
    const pid_t broker = service_pid(Service::rabbitmq);
    std::vector<DeliveryId> ids;
    const auto publish_up_to = [&](int end) {
      for (int i = static_cast<int>(ids.size()) + 1; i < end; ++i) {
        const Record record = make_record(i, "k" + std::to_string(i), std::string(20'000, 'x'));
        ids.push_back(publish(record, name + "/Placed"));
      }
    };
    publish_up_to(450);
    log_.wait_for(ids[100]);
    ::kill(broker, SIGSTOP);  // so that what follows is in flight
    publish_up_to(900);
    ::kill(broker, SIGKILL);
    kill_service(Service::rabbitmq);  // returns when it is gone
    std::set<std::string> confirmed{"m-0"};
    std::size_t given_back = 0;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const Outcome outcome = log_.wait_for(ids[i]);
      if (outcome.verdict == Verdict::delivered) {
        confirmed.insert("m-" + std::to_string(i + 1));
      } else {
        ++given_back;
        EXPECT_EQ(outcome.verdict, Verdict::busy);
        EXPECT_EQ(outcome.scope, Scope::sink);
      }
    }
    EXPECT_GT(given_back, 0u) << "nothing was in flight when it was killed";
    start_service(Service::rabbitmq);
    while (send(900, name + "/Placed").verdict != Verdict::delivered) {
    }
    std::set<std::string> stored;
    for (const std::string& id : taken(name)) stored.insert(id);
    for (const std::string& id : confirmed) EXPECT_TRUE(stored.contains(id)) << name << ": " << id;
    EXPECT_TRUE(stored.contains("m-900"));
    sink_->close();
  }
}

class RabbitMqTls : public RabbitMqFaults {
 protected:
  void SetUp() override {
    RabbitMqFaults::SetUp();
    if (IsSkipped()) return;
    tls_url_ = std::getenv("OUTBOX_RABBITMQ_TLS");
    ca_ = std::getenv("OUTBOX_RABBITMQ_CA");
  }
  std::string tls_url_;
  std::string ca_;
};

TEST_F(RabbitMqTls, ATrustedBrokerIsUsed) {
  open({}, {{"url", tls_url_}, {"tls.ca", ca_}});
  for (const DeliveryId id : publish_all(0, 300)) EXPECT_EQ(log_.wait_for(id).verdict, Verdict::delivered);
  const Outcome large = log_.wait_for(publish(make_record(300, "k", std::string(3u << 20, 'x'))));
  EXPECT_EQ(large.verdict, Verdict::delivered) << large.detail;
  EXPECT_EQ(taken().size(), 301u);
}

TEST_F(RabbitMqTls, TheCertificateMustBearTheHostsNameOrAddress) {
  std::string url = tls_url_;
  url.replace(url.find("localhost"), 9, "127.0.0.1");
  open({}, {{"url", url}, {"tls.ca", ca_}});
  EXPECT_EQ(send(1).verdict, Verdict::delivered) << "the certificate bears the address";
  sink_->close();
  url.replace(url.find("127.0.0.1"), 9, "127.1");  // the same host, by a name that the certificate does not bear
  open({}, {{"url", url}, {"tls.ca", ca_}});
  expect_busy(send(2), Scope::sink, "tls");
  EXPECT_EQ(taken(), Names{"m-1"});
}

TEST_F(RabbitMqTls, AnAuthorityThatDidNotSignIsNotEnough) {
  const TempDir folder;
  const std::string make = "openssl req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=stranger -keyout " +
                           folder.file("key.pem") + " -out " + folder.file("ca.pem") + " 2>/dev/null";
  ASSERT_EQ(std::system(make.c_str()), 0);
  open({}, {{"url", tls_url_}, {"tls.ca", folder.file("ca.pem")}});
  const Outcome outcome = send(1);
  expect_busy(outcome, Scope::sink, "tls");
  EXPECT_NE(outcome.detail.find("certificate verify failed"), std::string::npos) << outcome.detail;
  sink_->close();
  open({}, {{"url", tls_url_}});
  expect_busy(send(2), Scope::sink, "tls");  // the system does not know the test's authority either
  sink_->close();
  open({}, {{"url", tls_url_}, {"tls.verify", "false"}});
  EXPECT_EQ(send(3).verdict, Verdict::delivered);
}

TEST_F(RabbitMqTls, AStoppedBrokerHoldsNoStop) {
  open({}, {{"url", tls_url_}, {"tls.ca", ca_}});
  const pid_t broker = service_pid(Service::rabbitmq);
  ::kill(broker, SIGSTOP);
  const auto ids = publish_all(1, 50);
  EXPECT_EQ(log_.wait_for(ids.front(), 300ms).reason, "no outcome");
  sink_->close();
  for (const DeliveryId id : ids) EXPECT_EQ(log_.wait_for(id).reason, "closed");
  ::kill(broker, SIGCONT);
}

}  // namespace
}  // namespace outbox::test
