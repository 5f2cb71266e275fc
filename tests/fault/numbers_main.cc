// Measures by hand what a test must not time: tests/fault/numbers builds and starts what it needs.
#include <CLI/CLI.hpp>
#include <cstdio>

#include "fault/numbers.h"

namespace outbox::test {
namespace {

CLI::Option* add_sink(CLI::App& command, std::string& sink) {
  return command.add_option("--sink", sink, "where messages go")
      ->check(CLI::IsMember({"kafka", "rabbitmq", "nats", "http"}))
      ->capture_default_str();
}

int main(int argc, char** argv) {
  bool kept = true;
  CLI::App app("Numbers of failing well, each beside its limit. Ends with 1 where one is not kept.",
               "tests/fault/numbers");
  app.require_subcommand(1);

  KillNumbers kills;
  auto& kill = *app.add_subcommand("kills", "relays are killed, one every few seconds, while an application trades");
  add_sink(kill, kills.sink);
  kill.add_option("--relays", kills.relays)->capture_default_str();
  kill.add_option("--keys", kills.keys)->capture_default_str();
  kill.add_option("--messages", kills.messages_per_key, "for each key")->capture_default_str();
  kill.add_option("--seconds", kills.seconds, "of trade")->capture_default_str();
  kill.add_option("--every", kills.every, "seconds between kills; 0: none is killed")->capture_default_str();
  kill.add_option("--lease", kills.lease, "seconds")->capture_default_str();
  kill.add_flag("--far", kills.far, "as on another machine: the lease of the dead has to run out");
  kill.add_option("--seed", kills.seed)->capture_default_str();
  kill.callback([&] { kept = measure_kills(kills); });

  OutageNumbers outages;
  auto& outage = *app.add_subcommand("outage", "the broker is away while rows wait");
  add_sink(outage, outages.sink);
  outage.add_option("--minutes", outages.minutes, "of its absence")->capture_default_str();
  outage.add_option("--rows", outages.rows, "that wait")->capture_default_str();
  outage.callback([&] { kept = measure_outage(outages); });

  NeighbourNumbers neighbours;
  auto& poison = *app.add_subcommand("poison", "one message that always fails, among others (HTTP)");
  auto& hang = *app.add_subcommand("hang", "one sink that hangs, beside another (HTTP)");
  for (auto* command : {&poison, &hang}) {
    command->add_option("--seconds", neighbours.seconds, "of each run")->capture_default_str();
    command->add_option("--rate", neighbours.rate, "messages a second")->capture_default_str();
  }
  poison.callback([&] { kept = measure_poison(neighbours); });
  hang.callback([&] { kept = measure_hang(neighbours); });

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tests/fault/numbers: %s\n", error.what());
    return 2;
  }
  std::printf("%s\n", kept ? "kept" : "NOT KEPT");
  return kept ? 0 : 1;
}

}  // namespace
}  // namespace outbox::test

int main(int argc, char** argv) { return outbox::test::main(argc, argv); }
