// PostgreSQL to a JetStream stream, by the real daemon.
#include <map>
#include <set>

#include "integration/daemon_fixture.h"
#include "support/nats_server.h"
#include "support/nats_stream.h"

namespace outbox::test {
namespace {

using namespace std::chrono_literals;

constexpr int kKeys = 20;

class DaemonNats : public DaemonTest {
 protected:
  void SetUp() override {
    OUTBOX_REQUIRE_SERVICE(shared_one, Service::nats);
    DaemonTest::SetUp();
    if (IsSkipped()) return;
    server_ = std::make_unique<NatsServer>();
  }

  void configure_events(const std::string& subject) {
    configure("  events: { type: nats, servers: [ \"" + server_->url() + "\" ], from: beginning }\n",
              "  - { sink: events, subject: \"" + subject + "\" }\n", "breaker: { open: 100ms, cap: 200ms }\n");
  }

  // Numbers from..to, each in the payload, spread over the keys.
  void send_many(int from, int to) {
    database_->query("select outbox_send('order', 'k' || i % " + std::to_string(kKeys) +
                         ", 'Placed', json_build_object('n', i)::text) from generate_series($1::int, $2::int) i",
                     {std::to_string(from), std::to_string(to)});
  }

  // What came first of each id; every key's numbers must rise.
  static void expect_all_in_order(const std::vector<NatsMessage>& messages, int count) {
    std::set<std::string> ids;
    std::map<std::string, int> last;
    for (const NatsMessage& message : messages) {
      if (!ids.insert(message.header("message-id")).second) continue;
      const int n = std::stoi(message.data.substr(message.data.find(':') + 1));
      int& before = last[message.header("aggregate-id")];
      EXPECT_GT(n, before) << message.header("aggregate-id");
      before = n;
    }
    EXPECT_EQ(ids.size(), static_cast<std::size_t>(count));
    EXPECT_EQ(last.size(), static_cast<std::size_t>(kKeys));
  }

  std::unique_ptr<NatsServer> server_;
};

TEST_F(DaemonNats, DrainsTheTableOnceAndInOrder) {
  NatsStream stream(server_->url(), "shop");
  configure_events(stream.subject("{aggregate_type}.{type}"));
  send_many(1, 2'000);
  const Ran once = daemon_.run({"run", "--once"});
  EXPECT_EQ(once.code, 0) << once.err;
  const auto messages = stream.read();
  EXPECT_EQ(messages.size(), 2'000u);
  expect_all_in_order(messages, 2'000);
  EXPECT_EQ(messages[0].subject, stream.subject("order.Placed"));
  EXPECT_EQ(messages[0].header("Nats-Msg-Id"), messages[0].header("message-id"));
  EXPECT_EQ(daemon_.run_once().code, 0);
  EXPECT_EQ(stream.count(), 2'000u);
}

TEST_F(DaemonNats, AKilledServerCostsNoMessageAndNoAttempt) {
  constexpr int kMessages = 10'000;
  NatsStream stream(server_->url(), "shop");
  configure_events(stream.subject("{type}"));
  auto relay = daemon_.start();
  for (int part = 0; part < 5; ++part) {
    send_many(part * kMessages / 5 + 1, (part + 1) * kMessages / 5);
    if (part == 1 || part == 3) {
      server_->kill();
      server_->start();
    }
  }
  EXPECT_TRUE(eventually(120s, [&] { return stream.count() >= kMessages; })) << relay->standard_error();
  EXPECT_EQ(stop(*relay), 0) << relay->standard_error();
  expect_all_in_order(stream.read(), kMessages);
  EXPECT_EQ(count("dead"), "0");
  EXPECT_EQ(attempts_used(), "0");
}

// B149. A message that the stream has already, from an earlier try or under an id that was used before, is not an
// error; somebody who looks can see which it was, and where.
TEST_F(DaemonNats, WhatTheStreamHasAlreadyIsDeliveredAndCounted) {
  NatsStream stream(server_->url(), "shop");
  configure_events(stream.subject("{type}"));
  auto first = daemon_.start();
  const std::string id = send("1");
  EXPECT_TRUE(eventually(60s, [&] { return stream.count() == 1; })) << first->standard_error();
  EXPECT_EQ(stop(*first), 0) << first->standard_error();
  // Of the delivery nothing is known any more, as after a kill before it was settled.
  database_->execute("delete from outbox_position");
  auto again = daemon_.start();
  const int port = admin_port(*again);
  EXPECT_TRUE(eventually(60s, [&] {
    return sample(get(port, "/metrics").body, "outbox_duplicates_total{sink=\"events\"}") == "1";
  })) << again->standard_error();
  const std::string log = again->standard_error();
  EXPECT_NE(log.find("the stream has this id already"), std::string::npos) << log;
  EXPECT_NE(log.find("message=" + id + " at=" + stream.name() + "/1"), std::string::npos) << log;
  EXPECT_EQ(stop(*again), 0) << again->standard_error();
  EXPECT_EQ(stream.count(), 1u);
  EXPECT_EQ(count("dead"), "0");
}

TEST_F(DaemonNats, WithoutAStreamNothingIsLostAndABadSubjectIsADeadLetter) {
  configure_events("later.{aggregate_id}");
  const std::string bad = send("a b");
  const std::string good = send("17");
  auto relay = daemon_.start();
  EXPECT_TRUE(eventually(60s, [&] { return state_of(bad) == "dead"; })) << relay->standard_error();
  EXPECT_NE(state_of(good), "dead");
  natsConnection* admin = nullptr;
  jsCtx* js = nullptr;
  ASSERT_EQ(natsConnection_ConnectTo(&admin, server_->url().c_str()), NATS_OK);
  ASSERT_EQ(natsConnection_JetStream(&js, admin, nullptr), NATS_OK);
  jsStreamConfig config;
  jsStreamConfig_Init(&config);
  const char* subjects[] = {"later.*"};
  config.Name = "later";
  config.Subjects = subjects;
  config.SubjectsLen = 1;
  ASSERT_EQ(js_AddStream(nullptr, js, &config, nullptr, nullptr), NATS_OK);
  natsMsg* arrived = nullptr;
  EXPECT_TRUE(eventually(60s, [&] {
    return arrived != nullptr || js_GetMsg(&arrived, js, "later", 1, nullptr, nullptr) == NATS_OK;
  })) << relay->standard_error();
  if (arrived != nullptr) {
    EXPECT_STREQ(natsMsg_GetSubject(arrived), "later.17");
  }
  natsMsg_Destroy(arrived);
  jsCtx_Destroy(js);
  natsConnection_Destroy(admin);
  EXPECT_EQ(stop(*relay), 0) << relay->standard_error();
}

}  // namespace
}  // namespace outbox::test
