// PostgreSQL → Kafka: the relay dies at a chosen system call of its store's thread, between Kafka's confirmation and
// the end of the settle: before the statement goes out (sendto), or before its answer is read (recvfrom).
#include "fault/postgres_kafka.h"
#include "fault/syscall_kill.h"

namespace outbox::test {
namespace {

using namespace std::chrono_literals;

// The store's first prepared statement, as PostgreSQL's Bind message names it.
constexpr const char* kMovesPosition = "outbox_0\\0";

class KilledWhileSettling : public PostgresKafka {};

TEST_P(KilledWhileSettling, TwentyTimesLosesNothing) {
  shop().start(3, 100);
  // Until ten kills hit the statement of a settle itself; the others are as likely in what the store asks in between.
  int at_settle = 0;
  for (int i = 0; i < 60 && (i < 20 || at_settle < 10); ++i) {
    auto relay = start_relay();
    const std::string call = i % 2 == 0 ? "sendto" : "recvfrom";
    const int nth = 5 + i / 2 % 10;  // the first ones ask what is parked
    SyscallKill kill(*relay, "store", call, nth);
    shop().burst(500);
    ASSERT_TRUE(kill.happened(30s)) << relay->standard_error();
    note_death();
    std::printf("killed at %s number %d of the store: %s\n", call.c_str(), nth, kill.last_call().c_str());
    EXPECT_EQ(kill.last_call().find(call), 0u);
    if (kill.last_call().find(kMovesPosition) != std::string::npos) ++at_settle;
  }
  EXPECT_GE(at_settle, 10);
  EXPECT_GE(drain_and_judge(), 10);
}

INSTANTIATE_TEST_SUITE_P(Servers, KilledWhileSettling, testing::Values(Service::postgresql), server_name);

}  // namespace
}  // namespace outbox::test
