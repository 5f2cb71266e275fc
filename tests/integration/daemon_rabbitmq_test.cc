// The daemon between PostgreSQL and RabbitMQ.
#include <map>

#include "integration/daemon_fixture.h"
#include "support/rabbitmq.h"
#include "support/rabbitmq_control.h"

namespace outbox::test {
namespace {

using namespace std::chrono_literals;

class DaemonRabbitMq : public DaemonTest {
 protected:
  void SetUp() override {
    DaemonTest::SetUp();
    if (IsSkipped()) return;
    OUTBOX_REQUIRE_SERVICE(url, Service::rabbitmq);
    url_ = url;
    name_ = database_->name();
    RabbitClient client(url_);
    client.declare_exchange(name_, "topic");
    client.declare_queue(name_, QueueType::classic);
    client.bind(name_, name_, "order.#");
  }
  void TearDown() override {
    if (name_.empty() || url_.empty()) return;
    RabbitClient client(url_);
    client.delete_queue(name_);
    client.delete_exchange(name_);
  }

  void configure_events(const std::string& more_routes = {}) {
    configure("  events: { type: rabbitmq, url: \"" + url_ + "\", exchange: " + name_ +
                  ", routing_key: \"{aggregate_type}.{type}\", from: beginning }\n",
              more_routes + "  - { sink: events }\n", "retry: { base: 50ms, cap: 200ms }\nbreaker: { open: 100ms }\n");
  }
  // The ids in the queue so far, by key, in the order of their arrival.
  std::map<std::string, std::vector<std::string>>& arrived() {
    for (const RabbitMessage& message : RabbitClient(url_).take(name_)) {
      arrived_[message.header("aggregate-id")].push_back(message.message_id);
      ++count_;
    }
    return arrived_;
  }
  std::size_t arrived_count() {
    arrived();
    return count_;
  }

  std::string url_;
  std::string name_;
  std::map<std::string, std::vector<std::string>> arrived_;
  std::size_t count_ = 0;
};

TEST_F(DaemonRabbitMq, EachCommittedMessageArrivesOnceInTheOrderOfItsKey) {
  configure_events();
  std::map<std::string, std::vector<std::string>> sent;
  for (int i = 0; i < 300; ++i) sent["k" + std::to_string(i % 7)].push_back(send("k" + std::to_string(i % 7)));
  database_->execute("begin; select outbox_send('order', 'ghost', 'T', '{}'); rollback");
  const Ran once = daemon_.run({"run", "--once"});
  EXPECT_EQ(once.code, 0) << once.err;
  EXPECT_EQ(arrived(), sent);
}

// Twice: the first time the exchange has never been there; the second time it goes away while it is in use.
TEST_F(DaemonRabbitMq, AMissingExchangeStopsItselfAloneAndUsesNoAttempt) {
  const std::string other = name_ + ".other";
  configure_events("  - { sink: events, type: Other, exchange: " + other + " }\n");
  auto relay = daemon_.start();
  const int port = admin_port(*relay);
  std::size_t good = 0;
  std::size_t lost = 0;
  for (const bool known : {false, true}) {
    if (known) RabbitClient(url_).delete_exchange(other);
    for (int i = 0; i < 50; ++i) {
      send("k" + std::to_string(i));
      ++good;
      if (i % 10 != 0) continue;
      send("l" + std::to_string(i), "Other");
      ++lost;
    }
    EXPECT_TRUE(eventually(60s, [&] { return arrived_count() >= good; })) << relay->standard_error();
    EXPECT_EQ(attempts_used(), "0");
    EXPECT_TRUE(eventually(60s, [&] {
      return sample(get(port, "/metrics").body, R"(outbox_held_destinations{sink="events"})") == "1";
    })) << get(port, "/metrics").body;
    EXPECT_TRUE(eventually(60s, [&] { return get(port, "/readyz").status == 200; }))
        << "the other exchange takes messages: " << get(port, "/readyz").body;
    RabbitClient client(url_);
    client.declare_exchange(other, "topic");
    client.bind(name_, other, "#");
    EXPECT_TRUE(eventually(60s, [&] { return arrived_count() >= good + lost; })) << relay->standard_error();
    good += lost;
    lost = 0;
  }
  EXPECT_EQ(stop(*relay), 0) << relay->standard_error();
  EXPECT_EQ(count("dead"), "0");
  RabbitClient(url_).delete_exchange(other);
}

TEST_F(DaemonRabbitMq, ASinkOfWhichNoExchangeIsThereIsNotReadyAndWarns) {
  RabbitClient(url_).delete_exchange(name_);
  configure_events();
  auto relay = daemon_.start();
  const int port = admin_port(*relay);
  for (int i = 0; i < 10; ++i) send("k" + std::to_string(i));
  EXPECT_TRUE(eventually(60s, [&] { return get(port, "/readyz").status == 503; })) << relay->standard_error();
  EXPECT_TRUE(eventually(60s, [&] {
    const auto said = get(port, "/readyz").body;
    return said.find("sink events: held: each destination that it has messages for takes none: ") != std::string::npos;
  })) << get(port, "/readyz").body;
  EXPECT_TRUE(eventually(60s, [&] { return daemon_.run({"status"}).out.find("takes none") != std::string::npos; }))
      << daemon_.run({"status"}).out;
  const auto warned = [&] {
    const std::string log = relay->standard_error();
    const auto at = log.find("a destination takes no messages");
    return at != std::string::npos && log.find("destination=" + name_, at) != std::string::npos;
  };
  EXPECT_TRUE(eventually(60s, warned)) << relay->standard_error();

  RabbitClient client(url_);
  client.declare_exchange(name_, "topic");
  client.bind(name_, name_, "order.#");
  EXPECT_TRUE(eventually(60s, [&] { return arrived_count() == 10; })) << relay->standard_error();
  EXPECT_TRUE(eventually(60s, [&] { return get(port, "/readyz").status == 200; })) << get(port, "/readyz").body;
  EXPECT_EQ(stop(*relay), 0);
  EXPECT_NE(relay->standard_error().find("a destination takes messages again"), std::string::npos);
}

TEST_F(DaemonRabbitMq, AnOutageLosesNothingAndUsesNoAttempt) {
  configure_events();
  auto relay = daemon_.start();
  const std::string first = send("1");
  EXPECT_TRUE(eventually(60s, [&] { return arrived_count() == 1; })) << relay->standard_error();
  save_declarations();
  kill_service(Service::rabbitmq);
  std::vector<std::string> sent{first};
  for (int i = 0; i < 20; ++i) sent.push_back(send("1"));
  EXPECT_TRUE(eventually(60s, [&] { return relay->standard_error().find("rabbitmq is down") != std::string::npos; }));
  start_service(Service::rabbitmq);
  EXPECT_TRUE(eventually(60s, [&] { return arrived_count() >= sent.size(); })) << relay->standard_error();
  EXPECT_EQ(arrived()["1"], sent);
  EXPECT_EQ(attempts_used(), "0");
  EXPECT_EQ(stop(*relay), 0) << relay->standard_error();
}

}  // namespace
}  // namespace outbox::test
