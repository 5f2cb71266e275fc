#include "app/commands/commands.h"
#include "app/settings_file.h"

namespace outbox::app {

int execute(const DemoFlags&) { return report({FailureKind::invalid, "demo is not part of this build yet"}); }

}  // namespace outbox::app
