// The reference page and the JSON Schema of the configuration, from the same option tables that parse it.
#pragma once

#include <span>
#include <string>

#include "config/load.h"

namespace outbox::config {

// docs/reference/configuration.md, whole.
std::string reference_page(std::span<const SinkKind> kinds);

// JSON Schema 2020-12, for editors.
std::string json_schema(std::span<const SinkKind> kinds);

}  // namespace outbox::config
