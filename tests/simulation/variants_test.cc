// The simulator catches bugs: every deliberately broken variant of the core, and of the store and source beneath it, is
// found within 1,000 seeds, from five different starting points.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <ostream>
#include <string>
#include <vector>

#include "flaw.h"
#include "relay/variant.h"
#include "simulation.h"

namespace outbox {
Variant g_variant = Variant::none;
}

namespace outbox::sim {
namespace {

constexpr std::uint64_t kSeedsMax = 1000;
constexpr std::array<std::uint64_t, 5> kStarts{1, 100'001, 200'001, 300'001, 400'001};

struct Broken {
  std::string name;
  Variant variant = Variant::none;
  Flaw flaw = Flaw::none;
};

void PrintTo(const Broken& broken, std::ostream* out) { *out << broken.name; }

#define CORE(name) \
  Broken { #name, Variant::name, Flaw::none }
#define BENEATH(name) \
  Broken { #name, Variant::none, Flaw::name }

const std::vector<Broken> kBroken{
    CORE(settle_before_confirm),
    CORE(no_key_gate),
    CORE(park_without_followers),
    CORE(release_out_of_order),
    CORE(position_past_unsettled),
    CORE(probe_same_key),
    CORE(not_due_blocks_key),
    CORE(outage_charges),
    CORE(ahead_forgotten),
    CORE(ahead_by_seq),
    CORE(known_ignored),
    CORE(client_death_reverses),
    CORE(hold_ignored),
    CORE(death_out_of_turn),
    CORE(probe_leaks),
    CORE(cap_ignored),
    CORE(retry_without_backoff),
    CORE(facts_clear_key),
    CORE(restart_keeps_memory),
    CORE(lapse_ignored),
    CORE(lapse_leaves_client),
    CORE(lapse_keeps_share),
    CORE(gives_in_flight),
    CORE(pause_ignored),
    CORE(budget_ignored),
    CORE(age_by_last_try),
    CORE(clock_not_set_back),
    CORE(spill_missing),
    CORE(spill_from_behind),
    CORE(refused_forgotten),
    CORE(refused_passed),
    CORE(refused_marked),
    BENEATH(window_taken_anew),
    BENEATH(no_tombstones),
    BENEATH(stale_owner_settles),
    BENEATH(takes_what_is_leased),
    BENEATH(parks_twice),
    BENEATH(update_revives),
    BENEATH(update_undoes_requeue),
};
#undef CORE
#undef BENEATH

class Variants : public ::testing::TestWithParam<Broken> {
 protected:
  void SetUp() override {
    g_variant = GetParam().variant;
    g_flaw = GetParam().flaw;
  }
  void TearDown() override {
    g_variant = Variant::none;
    g_flaw = Flaw::none;
  }
};

// What a failure is about, without its names and numbers.
std::string kind_of(std::string failure) {
  failure = failure.substr(0, failure.find_first_of(";\n"));
  return failure.substr(0, 110);
}

TEST_P(Variants, IsFound) {
  std::vector<std::uint64_t> needed;
  std::string how;
  for (const auto start : kStarts) {
    std::uint64_t seeds = 1;
    for (; seeds <= kSeedsMax; ++seeds) {
      const RunResult result = run_seed(start + seeds - 1);
      if (result.failure.empty()) continue;
      if (how.empty()) how = kind_of(result.failure);
      break;
    }
    EXPECT_LE(seeds, kSeedsMax) << GetParam().name << " was not found from seed " << start;
    needed.push_back(seeds);
  }
  std::sort(needed.begin(), needed.end());
  fmt::print("{:<24} · {:>4} seeds (median; {} to {}) · {}\n", GetParam().name, needed[needed.size() / 2],
             needed.front(), needed.back(), how);
}

INSTANTIATE_TEST_SUITE_P(Core, Variants, ::testing::ValuesIn(kBroken),
                         [](const auto& param_info) { return param_info.param.name; });

// The same seeds, the same compiled code, nothing broken.
TEST(Unbroken, CorePassesTheSameSeeds) {
  for (const auto start : kStarts) {
    for (std::uint64_t seed = start; seed < start + 200; ++seed) {
      const RunResult result = run_seed(seed);
      EXPECT_EQ(result.failure, "") << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace outbox::sim
