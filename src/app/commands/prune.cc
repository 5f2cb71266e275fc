#include <fmt/format.h>

#include <cstdio>

#include "app/commands/commands.h"
#include "app/database.h"
#include "app/operator_desk.h"
#include "app/settings_file.h"

namespace outbox::app {

namespace {
constexpr std::int64_t kRowsPerStep = 1000;
}

int execute(const PruneFlags& flags) {
  const auto settings = load_settings(flags.config);
  if (!settings) return kUsage;
  const auto outbox = open_outbox(*settings);
  if (!outbox) return report(outbox.failure());
  const Store::Retention retention{settings->retain, settings->retain_dead, make_act({}).actor};
  std::int64_t rows = 0;
  while (true) {
    const auto step = outbox->store->prune(outbox->feeds, retention, kRowsPerStep, flags.dry_run);
    if (!step) return report(step.failure());
    rows += *step;
    if (flags.dry_run || *step == 0) break;
  }
  fmt::print("{} rows {}\n", rows, flags.dry_run ? "would go" : "deleted");
  return kDone;
}

}  // namespace outbox::app
