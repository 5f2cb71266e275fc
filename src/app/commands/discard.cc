#include <fmt/format.h>

#include <cstdio>

#include "app/commands/commands.h"
#include "app/dead_letter_choice.h"
#include "app/operator_desk.h"
#include "app/settings_file.h"

namespace outbox::app {

namespace {

constexpr int kAnyReplays = 1'000'000'000;  // how often it was sent again does not matter

int discard_all(OperatorDesk& desk, const DeliveryFilter& filter, const DiscardFlags& flags) {
  auto walk = desk.store->begin_walk(filter);
  if (!walk) return report(walk.failure());
  if (flags.dry_run) {
    const auto counted = desk.store->count(*walk, kAnyReplays);
    if (!counted) return report(counted.failure());
    fmt::print("{} would be discarded\n", counted->changed);
    return kDone;
  }
  const Act act = make_act(flags.act);
  std::int64_t discarded = 0;
  for (bool end = false; !end;) {
    const auto step = desk.store->discard(*walk, kStepRows, act);
    if (!step) {
      if (discarded > 0) fmt::print("{} discarded; the others are dead letters still\n", discarded);
      return report(step.failure());
    }
    discarded += step->changed;
    end = step->end;
  }
  fmt::print("{} discarded\n", discarded);
  return kDone;
}

}  // namespace

int execute(const DiscardFlags& flags) {
  auto opened = open_desk(flags.config);
  if (const int* code = std::get_if<int>(&opened)) return *code;
  auto& desk = std::get<OperatorDesk>(opened);
  const auto filter = make_filter(flags.filter, desk);
  if (!filter) return report(filter.failure());
  bool fits = true;
  if (!filter->message_ids.empty()) {
    const auto explained = explain_ids(desk, *filter, false);
    if (!explained) return report(explained.failure());
    fits = *explained;
  }
  const int code = discard_all(desk, *filter, flags);
  return code == kDone && !fits ? kAnswerIsNo : code;
}

}  // namespace outbox::app
