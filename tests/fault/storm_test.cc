// Half a minute of seeded faults of every kind, for each sink in turn: nothing lost, no ghost, the order of each key.
// For more: tests/fault/run.
#include "fault/storm.h"

#include <gtest/gtest.h>

#include "support/services.h"

namespace outbox::test {
namespace {

using namespace std::chrono_literals;

struct Weathered {
  std::string sink;
  std::uint64_t seed;
  std::optional<Service> broker;
};

class StormOver : public testing::TestWithParam<Weathered> {};

TEST_P(StormOver, LosesNothing) {
  const auto& [sink, seed, broker] = GetParam();
  OUTBOX_REQUIRE_SERVICE(server, Service::postgresql);
  if (broker) {
    OUTBOX_REQUIRE_SERVICE(address, *broker);
  }
  TrialOptions options{.sink = sink, .server = server, .proxies = true};
  options.settings += "lease: 2s\n";
  Trial trial(options);
  trial.shop().start(3, 60, seed);
  Storm storm(trial, seed, {.relays = 2, .lasts = 20s, .lease = 2s});
  storm.pass();
  const Verdict verdict = trial.judge();
  std::printf("%s\n", describe(verdict.findings).c_str());
  for (const auto& fault : storm.faults()) ADD_FAILURE() << fault;
  for (const auto& fault : verdict.faults) ADD_FAILURE() << fault;
}

INSTANTIATE_TEST_SUITE_P(Sinks, StormOver,
                         testing::Values(Weathered{"kafka", 1, Service::kafka},
                                         Weathered{"rabbitmq", 2, Service::rabbitmq},
                                         Weathered{"nats", 3, Service::nats}, Weathered{"http", 4, {}}),
                         [](const auto& each) { return each.param.sink; });

}  // namespace
}  // namespace outbox::test
