// SQLite → HTTP while the relay is killed again and again: every committed order becomes exactly one invoice or stands
// in the dead letters, in the order of its key; nothing that was rolled back ever arrives.
#include <random>

#include "fault/sqlite_http.h"
#include "fault/syscall_kill.h"
#include "support/eventually.h"

namespace outbox::test {
namespace {

using namespace std::chrono_literals;
using app::Mood;

class KilledRelay : public SqliteHttp {
 protected:
  KilledRelay() : SqliteHttp(2) {}

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
};

TEST_F(KilledRelay, AtRandomAHundredTimes) {
  shop_->start();
  const int in_flight = trade_and_kill(100, 1);
  ASSERT_TRUE(shop_->stop());
  EXPECT_GE(in_flight, 80);
  judge();
}

// Between the endpoint's answer and the end of the settle: at a write to the relay's own file, or before it is durable.
TEST_F(KilledRelay, AtAChosenSystemCallOfTheSettle) {
  shop_->start();
  for (int i = 0; i < 20; ++i) {
    auto relay = start_relay();
    const std::string call = i % 2 == 0 ? "pwrite64" : "fdatasync";
    const int nth = 1 + i / 2;
    SyscallKill kill(*relay, "store", call, nth);
    ASSERT_TRUE(kill.happened(30s)) << relay->standard_error();
    std::printf("killed at %s number %d of the store: %s\n", call.c_str(), nth, kill.last_call().c_str());
    EXPECT_EQ(kill.last_call().find(call), 0u);
  }
  ASSERT_TRUE(shop_->stop());
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
}  // namespace outbox::test
