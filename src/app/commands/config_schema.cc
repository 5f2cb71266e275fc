#include <fmt/format.h>

#include <cstdio>

#include "app/commands/commands.h"
#include "app/registry.h"
#include "config/describe.h"

namespace outbox::app {

int execute(const ConfigSchemaFlags&) {
  fmt::print("{}", config::json_schema(sink_kinds()));
  return kDone;
}

}  // namespace outbox::app
