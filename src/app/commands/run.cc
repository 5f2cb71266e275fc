#include "app/commands/commands.h"
#include "app/settings_file.h"

namespace outbox::app {

int execute(const RunFlags&) { return report({FailureKind::invalid, "run is not part of this build yet"}); }

}  // namespace outbox::app
