// PostgreSQL → Kafka while the relay is killed at random: nothing lost, no ghost, the order of each key.
#include <random>

#include "fault/postgres_kafka.h"
#include "support/eventually.h"

namespace outbox::test {
namespace {

using namespace std::chrono_literals;

class KilledRelay : public PostgresKafka {
 protected:
  // Before every third life, a transaction of 3,000 messages, so that kills fall into a backlog, too.
  void trade_and_kill(int kills, std::uint64_t seed) {
    std::mt19937_64 dice(seed);
    shop().start(4, 150, seed);
    for (int i = 0; i < kills; ++i) {
      if (i % 3 == 0) shop().burst(3000);
      const auto count = topic().count();
      auto relay = start_relay();
      // At any time of its life; or soon after it was seen to publish, or to settle.
      if (i % 4 == 1 || i % 4 == 2) {
        EXPECT_TRUE(eventually(30s, [&] { return topic().count() > count; })) << relay->standard_error();
      } else if (i % 4 == 3) {
        const auto before = position();
        EXPECT_TRUE(eventually(30s, [&] { return position() != before; })) << relay->standard_error();
      }
      const auto ended = relay->wait(std::chrono::milliseconds(dice() % (i % 4 == 0 ? 400 : 100)));
      ASSERT_FALSE(ended) << "it ended by itself: " << relay->standard_error();
      kill(*relay);
    }
  }

  std::string position() { return database().value("select last || coalesce(s1::text, '') from outbox_position"); }
};

TEST_P(KilledRelay, AtRandomLosesNothing) {
  const bool long_run = GetParam() == Service::postgresql;
  const int kills = long_run ? 100 : 20;
  trade_and_kill(kills, long_run ? 1 : 2);
  trade_in_peace();
  const int in_flight = drain_and_judge();
  std::printf("%d kills, messages in flight at %d of them\n", kills, in_flight);
  EXPECT_GE(in_flight, kills * 8 / 10);
}

INSTANTIATE_TEST_SUITE_P(Servers, KilledRelay, testing::Values(Service::postgresql, Service::postgresql_newest),
                         server_name);

}  // namespace
}  // namespace outbox::test
