// Where the checkout and the daemon under test are.
#pragma once

#include <filesystem>

namespace outbox::test {

std::filesystem::path source_dir();

// The outboxd of this build, or $OUTBOX_DAEMON where that is set (a release build under the fault tests).
// Throws std::runtime_error if there is none.
std::filesystem::path daemon_path();

}  // namespace outbox::test
