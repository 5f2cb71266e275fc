// `outboxd pause SINK` and `outboxd resume SINK`.
#include <fmt/format.h>

#include <cstdio>

#include "app/commands/commands.h"
#include "app/operator_desk.h"
#include "app/settings_file.h"

namespace outbox::app {

int execute(const PauseFlags& flags) {
  auto opened = open_desk(flags.config);
  if (const int* code = std::get_if<int>(&opened)) return *code;
  auto& desk = std::get<OperatorDesk>(opened);
  if (auto known = check_sink(desk.settings, flags.sink); !known) return report(known.failure());
  const auto paused = desk.store->pause(flags.sink, make_act(flags.act));
  if (!paused) return report(paused.failure());
  fmt::print("{} {}\n", flags.sink,
             *paused ? "is paused: every relay leaves it alone within seconds" : "was paused already");
  return kDone;
}

int execute(const ResumeFlags& flags) {
  auto opened = open_desk(flags.config);
  if (const int* code = std::get_if<int>(&opened)) return *code;
  auto& desk = std::get<OperatorDesk>(opened);
  const auto resumed = desk.store->resume(flags.sink, make_act(flags.act));
  if (!resumed) return report(resumed.failure());
  if (!*resumed) {
    if (auto known = check_sink(desk.settings, flags.sink); !known) return report(known.failure());
  }
  fmt::print("{} {}\n", flags.sink, *resumed ? "goes on where it stood" : "was not paused");
  return kDone;
}

}  // namespace outbox::app
