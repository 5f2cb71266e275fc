// Several relays on one outbox: they come, go, are killed, and sleep past their lease.
#include <algorithm>
#include <csignal>
#include <random>

#include "db/postgres.h"
#include "fault/postgres_kafka.h"
#include "support/eventually.h"

namespace outbox::test {
namespace {

using namespace std::chrono_literals;

class SeveralRelays : public PostgresKafka {
 protected:
  SeveralRelays() { more_options_ = "lease: 2s\n"; }

  int lanes_of(const ChildProcess& relay) { return trial_->lanes_of(relay); }
  bool shared(const Relays& relays) { return trial_->shared(relays); }
  std::string told(const Relays& relays) { return trial_->told(relays); }
  void stop(ChildProcess& relay) {
    relay.terminate();
    const auto ended = relay.wait(30s);
    EXPECT_TRUE(ended && ended->succeeded()) << relay.standard_error();
  }
  bool trades(int more) {
    const auto answered = shop().answered();
    return eventually(60s, [&] { return shop().answered() > answered + more; });
  }
  // Three come, one after the other, and go.
  void come_and_go();
};

void SeveralRelays::come_and_go() {
  shop().start(4, 150, 1);
  Relays relays;
  for (int i = 0; i < 3; ++i) {
    relays.push_back(start_relay());
    ASSERT_TRUE(eventually(30s, [&] { return shared(relays); })) << told(relays);
    EXPECT_TRUE(trades(200));
  }
  stop(*relays[1]);
  relays.erase(relays.begin() + 1);
  ASSERT_TRUE(eventually(30s, [&] { return shared(relays); })) << told(relays);
  EXPECT_TRUE(trades(200));
  for (auto& relay : relays) stop(*relay);
  EXPECT_EQ(drain().findings.duplicates, 0);
}

TEST_P(SeveralRelays, ThatComeAndGoSendNothingTwice) { come_and_go(); }

TEST_P(SeveralRelays, ThatAreKilledLoseNothing) {
  std::mt19937_64 dice(3);
  shop().start(4, 150, 3);
  Relays relays;
  for (int i = 0; i < 3; ++i) relays.push_back(start_relay());
  ASSERT_TRUE(eventually(30s, [&] { return shared(relays); })) << told(relays);
  for (int i = 0; i < 10; ++i) {
    auto& victim = relays[dice() % relays.size()];
    if (i % 2 == 0) shop().burst(2000);
    EXPECT_TRUE(trades(static_cast<int>(dice() % 200)));
    kill(*victim);
    EXPECT_TRUE(trades(50));
    victim = start_relay();
    ASSERT_TRUE(eventually(30s, [&] { return shared(relays); })) << told(relays);
  }
  for (auto& relay : relays) stop(*relay);
  drain();
}

// It wakes up when its share is another relay's: it hands nothing on, and settles nothing.
TEST_P(SeveralRelays, OneThatSleptPastItsLeaseIsOvertaken) {
  shop().start(4, 150, 5);
  Relays relays;
  for (int i = 0; i < 2; ++i) relays.push_back(start_relay());
  ASSERT_TRUE(eventually(30s, [&] { return shared(relays); })) << told(relays);
  for (int i = 0; i < 3; ++i) {
    shop().burst(2000);
    ::kill(relays[0]->pid(), SIGSTOP);
    ASSERT_TRUE(eventually(30s, [&] { return lanes_of(*relays[1]) == 64; })) << told(relays);
    EXPECT_TRUE(trades(200));
    ::kill(relays[0]->pid(), SIGCONT);
    ASSERT_TRUE(eventually(30s, [&] { return shared(relays); })) << told(relays);
    EXPECT_TRUE(trades(50));
  }
  EXPECT_NE(relays[0]->standard_error().find("the lease has run out"), std::string::npos);
  for (auto& relay : relays) stop(*relay);
  drain();
}

INSTANTIATE_TEST_SUITE_P(Servers, SeveralRelays, testing::Values(Service::postgresql), server_name);

class PooledRelays : public SeveralRelays {
 protected:
  PooledRelays() { through_ = Service::pgbouncer; }
};

// Behind a transaction pooler, whose sessions they leave as they were.
TEST_P(PooledRelays, ThatComeAndGoSendNothingTwice) {
  come_and_go();
  OUTBOX_REQUIRE_SERVICE(pooler, Service::pgbouncer);
  const std::string url = pooler.substr(0, pooler.rfind('/')) + database().url().substr(database().url().rfind('/'));
  for (int i = 0; i < 8; ++i) {
    auto connection = db::PgConnection::open(url);
    ASSERT_TRUE(connection) << connection.failure().what;
    auto settings = (*connection)
                        ->run(
                            "select current_setting('enable_seqscan'), current_setting('plan_cache_mode'),"
                            " (select count(*) from pg_prepared_statements)");
    ASSERT_TRUE(settings) << settings.failure().what;
    EXPECT_EQ(settings->text(0, 0), "on");
    EXPECT_EQ(settings->text(0, 1), "auto");
    EXPECT_EQ(settings->text(0, 2), "0");
  }
}

INSTANTIATE_TEST_SUITE_P(Servers, PooledRelays, testing::Values(Service::postgresql), server_name);

}  // namespace
}  // namespace outbox::test
