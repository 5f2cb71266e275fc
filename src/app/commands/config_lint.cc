#include <fmt/format.h>

#include <cstdio>

#include "app/commands/commands.h"
#include "app/settings_file.h"

namespace outbox::app {

int execute(const ConfigLintFlags& flags) {
  const auto settings = load_settings(flags.config);
  if (!settings) return kUsage;
  fmt::print("ok: {}\n", summary(*settings));
  return kDone;
}

}  // namespace outbox::app
