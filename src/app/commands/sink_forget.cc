#include <fmt/format.h>

#include <cstdio>

#include "app/commands/commands.h"
#include "app/operator_desk.h"
#include "app/settings_file.h"
#include "app/unknown_sinks.h"

namespace outbox::app {

namespace {

constexpr std::size_t kStepRows = 1000;

Result<void> check_forgettable(const OperatorDesk& desk, const std::string& sink) {
  if (!config::is_sink_name(sink)) {
    return Failure{FailureKind::invalid, "no sink can be called '" + sink + "': name one that `outboxd status` shows"};
  }
  if (check_sink(desk.settings, sink)) {
    return Failure{FailureKind::invalid, "the sink '" + sink + "' is in the configuration: take it out first"};
  }
  const auto relay = relay_of_sink(desk.settings, desk.database, sink);
  if (!relay) return relay.failure();
  if (relay->empty()) return {};
  return Failure{FailureKind::fenced, "the relay " + *relay + " works for '" + sink +
                                          "' still: restart it with the configuration that does not name it"};
}

std::string described(const SinkHoldings& holdings) {
  return fmt::format("{} waiting, {} dead, {} finished deliveries{}{}", holdings.waiting, holdings.dead,
                     holdings.finished,
                     holdings.position ? ", its position" + not_passed(holdings.unsent, holdings.unsent_is_capped) : "",
                     holdings.paused ? ", its pause" : "");
}

}  // namespace

int execute(const SinkForgetFlags& flags) {
  auto opened = open_desk(flags.config);
  if (const int* code = std::get_if<int>(&opened)) return *code;
  auto& desk = std::get<OperatorDesk>(opened);
  if (auto fits = check_forgettable(desk, flags.sink); !fits) return report(fits.failure());
  const auto holdings = desk.store->holdings(flags.sink);
  if (!holdings) return report(holdings.failure());
  if (!holdings->position && !holdings->paused && holdings->waiting + holdings->dead + holdings->finished == 0) {
    fmt::print(stderr, "outboxd: the database knows no sink '{}'\n", flags.sink);
    return kAnswerIsNo;
  }
  if (!flags.yes) {
    fmt::print("{} has {}\n", flags.sink, described(*holdings));
    fmt::print(stderr, "outboxd: nothing was deleted; with --yes all of it goes, for good\n");
    return kAnswerIsNo;
  }
  const Act act = make_act(flags.act);
  for (bool all = false; !all;) {
    const auto step = desk.store->forget(flags.sink, kStepRows, act);
    if (!step) return report(step.failure());
    all = *step;
  }
  fmt::print("{} is forgotten: {}\n", flags.sink, described(*holdings));
  return kDone;
}

}  // namespace outbox::app
