// From errno to what the sink reports.
#pragma once

#include <string>
#include <string_view>

#include "sink/file/line_output.h"

namespace outbox::file {

// `step` is what was tried: "open", "write", "sync".
Outcome fault(std::string_view step, const std::string& path, int error);

}  // namespace outbox::file
