// The driver for long runs by hand; tests/fault/run builds and starts what it needs.
#include <CLI/CLI.hpp>
#include <cstdio>

#include "fault/storm.h"
#include "support/services.h"

namespace outbox::test {
namespace {

struct Wanted {
  double minutes = 1;
  std::uint64_t seed = 1;
  int relays = 3;
  std::string sink = "kafka";
};

bool passes(const Wanted& wanted) {
  const auto server = find_service(Service::postgresql);
  if (!server) throw std::runtime_error("OUTBOX_POSTGRESQL is not set: start this through tests/fault/run");
  TrialOptions options{.sink = wanted.sink, .server = *server, .proxies = true};
  options.settings += "lease: 2s\n";
  Trial trial(options);
  Storm storm(trial, wanted.seed,
              {.relays = wanted.relays,
               .lasts = std::chrono::milliseconds(static_cast<std::int64_t>(wanted.minutes * 60'000)),
               .lease = std::chrono::seconds(2)});
  trial.shop().start(3, 100, wanted.seed);
  storm.pass();
  const Verdict verdict = trial.judge();
  std::printf("%s\n", describe(verdict.findings).c_str());
  for (const auto& fault : storm.faults()) std::printf("FAULT: %s\n", fault.c_str());
  for (const auto& fault : verdict.faults) std::printf("FAULT: %s\n", fault.c_str());
  return storm.faults().empty() && verdict.faults.empty();
}

int main(int argc, char** argv) {
  Wanted wanted;
  CLI::App app("Real relays under a seeded schedule of faults, judged by the checker.", "tests/fault/run");
  app.add_option("--minutes", wanted.minutes, "how long faults go on; 0.5 is half a minute")->capture_default_str();
  app.add_option("--seed", wanted.seed, "what the schedule is made of; the same again replays it")
      ->capture_default_str();
  app.add_option("--relays", wanted.relays, "how many")->check(CLI::Range(1, 16))->capture_default_str();
  app.add_option("--sink", wanted.sink, "where messages go")
      ->check(CLI::IsMember({"kafka", "rabbitmq", "nats", "http"}))
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  try {
    if (passes(wanted)) return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tests/fault/run: %s\n", error.what());
    return 2;
  }
  std::printf("failed: tests/fault/run --sink %s --relays %d --minutes %g --seed %llu\n", wanted.sink.c_str(),
              wanted.relays, wanted.minutes, static_cast<unsigned long long>(wanted.seed));
  return 1;
}

}  // namespace
}  // namespace outbox::test

int main(int argc, char** argv) { return outbox::test::main(argc, argv); }
