// A message's field as part of a path.
#pragma once

#include <string>
#include <string_view>

namespace outbox::file {

// Slashes, control characters and '%' percent-encoded, and so are "", "." and "..": a value is one name inside a
// folder and never leads out of it.
std::string escape_path_field(std::string_view value);

}  // namespace outbox::file
