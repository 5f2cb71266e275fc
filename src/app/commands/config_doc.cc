#include <fmt/format.h>

#include <cstdio>

#include "app/commands/commands.h"
#include "app/registry.h"
#include "config/describe.h"

namespace outbox::app {

int execute(const ConfigDocFlags&) {
  fmt::print("{}", config::reference_page(sink_kinds()));
  return kDone;
}

}  // namespace outbox::app
