// SQLite → HTTP while the relay is killed again and again: every committed order becomes exactly one invoice or stands
// in the dead letters, in the order of its key; nothing that was rolled back ever arrives.
#include <gtest/gtest.h>

#include <fstream>
#include <random>

#include "app/checker.h"
#include "app/demo_partner.h"
#include "app/demo_shop.h"
#include "store/sqlite/schema.h"
#include "support/child_process.h"
#include "support/eventually.h"
#include "support/paths.h"
#include "support/temp_dir.h"

namespace outbox {
namespace {

using namespace std::chrono_literals;
using app::Mood;
using test::ChildProcess;
using test::eventually;

class KilledRelay : public testing::Test {
 protected:
  KilledRelay() {
    app::ShopOptions options;
    options.folder = folder_.path();
    options.orders = 25;
    options.pause = Duration(500);
    options.refused_percent = 2;
    shop_ = std::move(*app::DemoShop::make(options));
    partner_ = std::move(*app::DemoPartner::start());
    std::ofstream(folder_.file("outboxd.yaml")) << "database: " << shop_->url() << "\n"
                                                << "sinks:\n"
                                                << "  invoices: { type: http, url: \"" << partner_->url()
                                                << "\", from: beginning, timeout: { connect: 1s, total: 1s } }\n"
                                                << "routes:\n  - { sink: invoices }\n"
                                                << "retry: { base: 20ms, cap: 200ms, attempts: 8 }\n"
                                                << "breaker: { failures: 5, open: 50ms, cap: 200ms }\n"
                                                << "log: { level: warn }\n";
  }

  std::unique_ptr<ChildProcess> start_relay() {
    return std::make_unique<ChildProcess>(
        std::vector<std::string>{test::daemon_path().string(), "run", "--config", folder_.file("outboxd.yaml")});
  }

  // How much the position has not passed yet: at a kill, what was in flight or to come.
  std::int64_t unpassed() {
    auto state = open_sqlite_state(shop_->file(), "");
    auto shop = db::Sqlite::open(shop_->file(), db::Sqlite::Mode::read);
    if (!state || !shop) return 0;
    auto seq = state->integer("SELECT seq FROM outbox_position WHERE sink = 'invoices'");
    auto rows = shop->integer("SELECT count(*) FROM outbox WHERE seq > ?", {seq ? seq->value_or(0) : 0});
    return rows ? rows->value_or(0) : 0;
  }

  std::vector<std::string> dead_letters() {
    std::vector<std::string> dead;
    auto state = open_sqlite_state(shop_->file(), "");
    auto rows = state->query("SELECT message_id FROM outbox_delivery WHERE state = 'dead'");
    while (*rows->next()) dead.emplace_back(rows->text(0));
    return dead;
  }
  bool nothing_waits() {
    auto state = open_sqlite_state(shop_->file(), "");
    return unpassed() == 0 && *state->integer("SELECT count(*) FROM outbox_delivery WHERE state = 'waiting'") == 0;
  }

  // Kills a relay `kills` times; how often at least one message was under way.
  int trade_and_kill(int kills, std::uint64_t seed) {
    std::mt19937_64 dice(seed);
    int in_flight = 0;
    for (int i = 0; i < kills; ++i) {
      auto relay = start_relay();
      const auto arrived = partner_->counts().requests;
      const auto wanted = arrived + 1 + static_cast<std::int64_t>(dice() % 40);
      EXPECT_TRUE(eventually(20s, [&] { return partner_->counts().requests >= wanted || !relay->running(); }))
          << relay->standard_error();
      relay->kill_and_wait();
      const auto left = unpassed();
      in_flight += left > 0 ? 1 : 0;
      std::printf("kill %d: %ld requests in this life, %ld messages not passed\n", i + 1,
                  static_cast<long>(partner_->counts().requests - arrived), static_cast<long>(left));
    }
    return in_flight;
  }

  void judge() {
    auto relay = start_relay();
    ASSERT_TRUE(eventually(60s, [&] { return nothing_waits(); })) << relay->standard_error();
    relay->terminate();
    const auto ended = relay->wait(20s);
    ASSERT_TRUE(ended && ended->succeeded()) << relay->standard_error();

    Evidence evidence;
    evidence.committed = *shop_->ledger();
    evidence.rolled_back = shop_->counts().rolled_back;
    for (const auto& arrival : partner_->arrivals()) evidence.arrived.push_back(arrival.key);
    evidence.effects = partner_->counts().invoices;
    evidence.dead = dead_letters();
    const auto findings = check(evidence);
    for (const auto& fault : findings.faults) ADD_FAILURE() << fault;
    EXPECT_TRUE(findings.clean());
    EXPECT_EQ(findings.effects, findings.delivered);
    EXPECT_EQ(findings.committed, shop_->counts().committed);
    EXPECT_EQ(findings.delivered + findings.dead, findings.committed);
    EXPECT_GT(findings.rolled_back, 0);
    std::printf("committed %ld, rolled back %ld, delivered %ld, duplicates %ld, dead %ld\n",
                static_cast<long>(findings.committed), static_cast<long>(findings.rolled_back),
                static_cast<long>(findings.delivered), static_cast<long>(findings.duplicates),
                static_cast<long>(findings.dead));
  }

  test::TempDir folder_;
  std::unique_ptr<app::DemoShop> shop_;
  std::unique_ptr<app::DemoPartner> partner_;
};

TEST_F(KilledRelay, AtRandomAHundredTimes) {
  shop_->start();
  const int in_flight = trade_and_kill(100, 1);
  ASSERT_TRUE(shop_->stop());
  EXPECT_GE(in_flight, 80);
  judge();
}

TEST_F(KilledRelay, WhileThePartnerMisbehaves) {
  shop_->start();
  for (const auto mood : {Mood::failing, Mood::hanging, Mood::down, Mood::well}) {
    partner_->stay(Mood::well);
    auto relay = start_relay();
    const auto before = partner_->counts().invoices;
    EXPECT_TRUE(eventually(20s, [&] { return partner_->counts().invoices > before; })) << relay->standard_error();
    partner_->stay(mood);
    const auto committed = shop_->counts().committed;
    EXPECT_TRUE(eventually(20s, [&] { return shop_->counts().committed > committed + 50; }));
    relay->kill_and_wait();
  }
  partner_->stay(Mood::well);
  ASSERT_TRUE(shop_->stop());
  judge();
}

}  // namespace
}  // namespace outbox
