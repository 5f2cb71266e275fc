// Several relays before one endpoint: together they send what one would have sent.
#include <algorithm>
#include <set>

#include "integration/daemon_fixture.h"

namespace outbox::test {
namespace {

using namespace std::chrono_literals;

class DaemonRelays : public DaemonTest {
 protected:
  using Relays = std::vector<std::unique_ptr<ChildProcess>>;

  // Once each of them has a share.
  void start(std::size_t number) {
    while (relays_.size() < number) add();
    EXPECT_TRUE(eventually(60s, [&] {
      return std::all_of(relays_.begin(), relays_.end(), [](const auto& relay) { return lanes_of(*relay) > 0; });
    }));
  }
  ChildProcess& add(const Daemon::Environment& environment = {}) {
    relays_.push_back(daemon_.start({}, environment));
    return *relays_.back();
  }
  static std::string metric(const ChildProcess& relay, const std::string& name) {
    return sample(get(admin_port(relay), "/metrics").body, name);
  }
  static int lanes_of(const ChildProcess& relay) {
    const std::string lanes = metric(relay, "outbox_lanes_owned");
    return lanes.empty() ? 0 : std::stoi(lanes);
  }
  void send_many(int number, int keys) {
    database_->query("select outbox_send('order', (n % $1::int)::text, 'T', '{}') from generate_series(1, $2::int) n",
                     {std::to_string(keys), std::to_string(number)});
  }
  std::size_t messages_seen() {
    const auto ids = ids_of(stub_.requests());
    return std::set<std::string>(ids.begin(), ids.end()).size();
  }
  void stop_all() {
    for (auto& relay : relays_) EXPECT_EQ(stop(*relay), 0) << relay->standard_error();
  }

  HttpStub stub_;
  Relays relays_;
};

// B027
TEST_F(DaemonRelays, SendEachMessageOnce) {
  configure(http_sink("events", stub_), "  - { sink: events }\n");
  start(3);
  send_many(3000, 300);
  EXPECT_TRUE(stub_.wait_for_requests(3000, 120s));
  stop_all();
  EXPECT_EQ(messages_seen(), 3000u);
  EXPECT_EQ(stub_.request_count(), 3000u);
}

// B029
TEST_F(DaemonRelays, AwaitAnAnswerForLongerThanTheirLease) {
  stub_.set_script([](const StubRequest&) { return StubReply{.delay = 4s}; });
  configure(http_sink("events", stub_, ", timeout: { connect: 2s, total: 30s }"), "  - { sink: events }\n",
            "lease: 1s\n");
  start(2);
  send_many(8, 8);
  EXPECT_TRUE(stub_.wait_for_requests(8));
  stop_all();
  EXPECT_EQ(daemon_.run_once().code, 0);
  EXPECT_EQ(stub_.request_count(), 8u);
}

// B031, B035: whichever connection is lost, no relay works on unaware, and none sleeps until it is started again.
TEST_F(DaemonRelays, GoOnWhenTheirConnectionsAreEnded) {
  configure(http_sink("events", stub_), "  - { sink: events }\n", "lease: 2s\n");
  start(2);
  const auto end_connections = [&] {
    return database_->value(
        "select count(pg_terminate_backend(pid)) from pg_stat_activity where datname = current_database() and"
        " application_name like 'outboxd %'");
  };
  for (std::size_t round = 1; round <= 3; ++round) {
    send_many(300, 60);
    EXPECT_TRUE(stub_.wait_for_requests((round - 1) * 300 + 100));
    EXPECT_NE(end_connections(), "0");
    EXPECT_TRUE(eventually(60s, [&] { return messages_seen() == round * 300; })) << relays_[0]->standard_error();
  }
  EXPECT_NE(end_connections(), "0");  // of relays that have nothing to do
  send("last");
  EXPECT_TRUE(eventually(60s, [&] { return messages_seen() == 901; })) << relays_[0]->standard_error();
  stop_all();
  EXPECT_EQ(database_->value("select count(*) from outbox_delivery"), "0");
}

// B041: nothing stays with the dead.
TEST_F(DaemonRelays, SendWhatADeadOneHadInHand) {
  stub_.set_script([](const StubRequest&) { return StubReply{.manner = StubReply::Manner::hang}; });
  configure(http_sink("events", stub_, ", concurrency: 256, timeout: { connect: 2s, total: 60s }"),
            "  - { sink: events }\n", "lease: 2s\n");
  start(1);
  send_many(232, 232);
  ASSERT_TRUE(stub_.wait_for_requests(232));
  stub_.set_script({});
  relays_[0]->kill_and_wait();
  relays_.clear();
  start(1);
  EXPECT_TRUE(stub_.wait_for_requests(464));
  stop_all();
  EXPECT_EQ(stub_.request_count(), 464u);
  EXPECT_EQ(messages_seen(), 232u);
  EXPECT_EQ(database_->value("select count(*) from outbox_delivery"), "0");
}

// B083: the first of its key is in one relay's hand; nobody takes the second.
TEST_F(DaemonRelays, LeaveTheNextOfAKeyBehindItsFirst) {
  stub_.set_script([](const StubRequest& request) {
    return StubReply{.manner = request.body == "[1]" ? StubReply::Manner::hang : StubReply::Manner::whole};
  });
  configure(http_sink("events", stub_, ", timeout: { connect: 2s, total: 60s }"), "  - { sink: events }\n");
  start(2);
  const auto first = send("A", "T", "[1]");
  ASSERT_TRUE(stub_.wait_for_requests(1));
  const auto second = send("A", "T", "[2]");
  send_many(100, 100);  // of every share, and behind it
  ASSERT_TRUE(stub_.wait_for_requests(101));
  for (const auto& id : ids_of(stub_.requests())) EXPECT_NE(id, second);
  stub_.set_script({});
  stub_.release();
  EXPECT_TRUE(eventually(60s, [&] { return ids_of(stub_.requests()).back() == second; }));
  stop_all();
}

// B097: a message is retried by whoever has its key and nobody else, so its attempts are what the retry allows.
TEST_F(DaemonRelays, RetryNoMoreOftenThanOneWould) {
  stub_.set_script([](const StubRequest&) { return StubReply{409}; });
  configure(http_sink("events", stub_), "  - { sink: events }\n", "retry: { base: 300ms, cap: 300ms, attempts: 6 }\n");
  start(3);
  for (int i = 0; i < 5; ++i) send(std::to_string(i));
  EXPECT_TRUE(eventually(60s, [&] { return count("dead") == "5"; }));
  stop_all();
  EXPECT_EQ(stub_.request_count(), 30u);
}

// B105: one whose clock is ahead takes nothing that is leased, and one that is behind is heard.
TEST_F(DaemonRelays, JudgeLeasesByTheDatabasesClock) {
  stub_.set_script([](const StubRequest&) { return StubReply{.delay = 500ms}; });
  configure(http_sink("events", stub_, ", concurrency: 1"), "  - { sink: events }\n", "lease: 2s\n");
  start(1);
  send_many(12, 1);
  ASSERT_TRUE(stub_.wait_for_requests(2));
  for (const std::string offset : {"120", "-3600"})
    add({{"LD_PRELOAD", OUTBOX_CLOCK_OFFSET}, {"CLOCK_OFFSET", offset}});
  start(3);
  EXPECT_TRUE(stub_.wait_for_requests(12));
  for (const auto& relay : relays_) EXPECT_EQ(metric(*relay, "outbox_lease_lost_total"), "0");
  database_->execute("select outbox_send('order', 'later', 'T', '{}', not_before => now() + interval '3 seconds')");
  EXPECT_TRUE(stub_.wait_for_requests(13));
  EXPECT_EQ(database_->value("select count(*) from outbox where not_before > now()"), "0");
  stop_all();
  EXPECT_EQ(stub_.request_count(), 13u);
}

}  // namespace
}  // namespace outbox::test
