#include "support/paths.h"

#include <cstdlib>
#include <stdexcept>

namespace outbox::test {

std::filesystem::path source_dir() { return OUTBOX_SOURCE_DIR; }

std::filesystem::path daemon_path() {
  const char* named = std::getenv("OUTBOX_DAEMON");
  std::filesystem::path path = named != nullptr ? named : OUTBOX_DAEMON;
  if (!std::filesystem::exists(path)) throw std::runtime_error("there is no outboxd at '" + path.string() + "'");
  return path;
}

}  // namespace outbox::test
