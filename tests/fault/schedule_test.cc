#include "fault/schedule.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

namespace outbox::test {
namespace {

using namespace std::chrono_literals;

constexpr Scope kScope{.relays = 3, .lasts = 60s, .lease = 2s};

std::string told(std::uint64_t seed) {
  std::string all;
  for (const Step& step : make_schedule(seed, kScope)) all += describe(step) + "\n";
  return all;
}

TEST(Schedule, ASeedTellsTheSameAgainAndAnotherTellsAnother) {
  EXPECT_EQ(told(7), told(7));
  EXPECT_NE(told(7), told(8));
}

TEST(Schedule, NothingHasTwoFaultsAtOnceAndAllAreHealedInTime) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    std::map<std::string, std::chrono::milliseconds> healed;
    auto before = 0ms;
    for (const Step& step : make_schedule(seed, kScope)) {
      EXPECT_GE(step.at, before);
      before = step.at;
      EXPECT_GE(step.until, step.at);
      EXPECT_LE(step.until, kScope.lasts);
      const auto last = healed.find(describe(step.thing));
      if (last != healed.end()) {
        EXPECT_LT(last->second, step.at) << "seed " << seed << ", " << describe(step);
      }
      healed[describe(step.thing)] = step.until;
    }
  }
}

TEST(Schedule, EachKindOfFaultComesToEachThing) {
  std::set<std::string> seen;
  bool past_the_lease = false;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    for (const Step& step : make_schedule(seed, kScope)) {
      seen.insert(std::to_string(static_cast<int>(step.thing.kind)) + std::to_string(step.thing.number) + " " +
                  std::to_string(static_cast<int>(step.fault)));
      past_the_lease = past_the_lease || (step.fault == Fault::pause && step.until - step.at > kScope.lease);
    }
  }
  EXPECT_EQ(seen.size(), 3u * 3 + 2 * 6 + 2 + 1);
  EXPECT_TRUE(past_the_lease);
}

}  // namespace
}  // namespace outbox::test
