// A payload that a command reads.
#pragma once

#include <string>

#include "base/result.h"

namespace outbox::app {

// All bytes of the file; "-" is standard input.
Result<std::string> read_payload_file(const std::string& name);

}  // namespace outbox::app
