#include <fmt/format.h>

#include "app/commands/commands.h"
#include "app/preflight.h"
#include "app/settings_file.h"

namespace outbox::app {

int execute(const CheckFlags& flags) {
  const auto settings = load_settings(flags.config);
  if (!settings) return kUsage;
  const auto findings = preflight(*settings);
  fmt::print("{}", flags.json ? preflight_json(findings) + "\n" : preflight_text(findings));
  return preflight_exit_code(findings);
}

}  // namespace outbox::app
