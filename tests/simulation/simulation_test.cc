// The unbroken core keeps every promise, on every seed; and a seed is all it takes to see a run again.
#include "simulation.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace outbox::sim {
namespace {

std::uint64_t seeds() {
  const char* wanted = std::getenv("OUTBOX_SIMULATION_SEEDS");
  return wanted == nullptr ? 10'000 : std::strtoull(wanted, nullptr, 10);
}

constexpr int kShares = 10;  // test cases, so that a failing one names the range

class Seeds : public ::testing::TestWithParam<int> {};

TEST_P(Seeds, KeepEveryPromise) {
  const std::uint64_t share = seeds() / kShares;
  const std::uint64_t from = 1 + share * static_cast<std::uint64_t>(GetParam());
  int failures = 0;
  RunResult sum;
  for (std::uint64_t seed = from; seed < from + share && failures < 5; ++seed) {
    const RunResult result = run_seed(seed);
    sum.delivered += result.delivered;
    sum.duplicates += result.duplicates;
    sum.dead += result.dead;
    sum.crashes += result.crashes;
    if (result.failure.empty()) continue;
    ++failures;
    ADD_FAILURE() << "seed " << seed << ": " << result.failure << "\n  replay: tests/simulation/run --seed " << seed
                  << " --trace";
  }
  // A simulation in which nothing happens proves nothing.
  EXPECT_GT(sum.delivered, 0);
  EXPECT_GT(sum.duplicates, 0);
  EXPECT_GT(sum.dead, 0);
  EXPECT_GT(sum.crashes, 0);
}

INSTANTIATE_TEST_SUITE_P(Simulation, Seeds, ::testing::Range(0, kShares));

TEST(Replay, ASeedGivesTheSameRunAgain) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    const RunResult first = run_seed(seed, Trace::Mode::digest);
    const RunResult second = run_seed(seed, Trace::Mode::digest);
    EXPECT_EQ(first.digest, second.digest) << "seed " << seed;
    EXPECT_EQ(first.steps, second.steps) << "seed " << seed;
  }
}

}  // namespace
}  // namespace outbox::sim
