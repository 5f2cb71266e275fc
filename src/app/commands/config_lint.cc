#include <fmt/format.h>

#include <cstdio>

#include "app/commands/commands.h"
#include "app/settings_file.h"

namespace outbox::app {

int execute(const ConfigLintFlags& flags) {
  const auto settings = load_settings(flags.config);
  if (!settings) return kUsage;
  fmt::print("ok: {} sinks, {} routes\n", settings->sinks.size(), settings->routes.size());
  return kDone;
}

}  // namespace outbox::app
