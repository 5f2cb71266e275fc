// simulate: runs seeds and says which one broke a promise.
//
//   simulate --seeds N [--from S]    N seeds, progress on stderr
//   simulate --seed S [--trace]      one seed, with every event
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>

#include "simulation.h"

namespace outbox::sim {
namespace {

int usage() {
  fmt::print(stderr, "usage: run --seeds N [--from S] | run --seed S [--trace]\n");
  return 2;
}

int run_one(std::uint64_t seed, bool trace) {
  fmt::print("{}\n", draw_scenario(seed).summary());
  std::fflush(stdout);
  const RunResult result = run_seed(seed, trace ? Trace::Mode::print : Trace::Mode::off);
  if (!result.verdict.empty()) fmt::print("{}\n", result.verdict);
  fmt::print("{} steps · {}\n", result.steps, result.failure.empty() ? "passed" : "FAILED: " + result.failure);
  return result.failure.empty() ? 0 : 1;
}

int run_many(std::uint64_t from, std::uint64_t seeds) {
  constexpr int kShown = 20;
  RunResult sum;
  std::uint64_t failed = 0;
  std::uint64_t calm = 0;
  for (std::uint64_t seed = from; seed < from + seeds; ++seed) {
    const RunResult result = run_seed(seed);
    if (!result.failure.empty() && ++failed <= kShown) {
      fmt::print("seed {} FAILED: {}\n  replay: tests/simulation/run --seed {} --trace\n", seed, result.failure, seed);
      std::fflush(stdout);
    }
    sum.committed += result.committed;
    sum.delivered += result.delivered;
    sum.duplicates += result.duplicates;
    sum.dead += result.dead;
    sum.crashes += result.crashes;
    sum.steps += result.steps;
    calm += result.calm ? 1 : 0;
    if ((seed - from + 1) % 10'000 == 0) fmt::print(stderr, "{} seeds, {} failed\n", seed - from + 1, failed);
  }
  fmt::print(
      "{} seeds, {} failed · {} steps · {} committed, {} delivered, {} duplicates, {} dead · {} crashes with "
      "something in flight · {} calm runs\n",
      seeds, failed, sum.steps, sum.committed, sum.delivered, sum.duplicates, sum.dead, sum.crashes, calm);
  return failed == 0 ? 0 : 1;
}

int run(int argc, char** argv) {
  std::map<std::string, std::string> options;
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    const bool flag = name == "--trace";
    if (!flag && (i + 1 == argc || name.rfind("--", 0) != 0)) return usage();
    options[name] = flag ? "yes" : argv[++i];
  }
  const auto number = [&](const char* name, std::uint64_t otherwise) {
    const auto found = options.find(name);
    return found == options.end() ? otherwise : std::strtoull(found->second.c_str(), nullptr, 10);
  };
  if (options.contains("--seed")) return run_one(number("--seed", 0), options.contains("--trace"));
  if (options.contains("--seeds")) return run_many(number("--from", 1), number("--seeds", 0));
  return usage();
}

}  // namespace
}  // namespace outbox::sim

int main(int argc, char** argv) { return outbox::sim::run(argc, argv); }
