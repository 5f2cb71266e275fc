// What a configuration takes from the environment.
//
//   ${NAME}       the variable's value
//   ${NAME_FILE}  what stands in the file that the variable names, less one line break at its end
//   $${           a literal ${
//
// A variable that is not set is an error that names it. Replaced after the file was parsed, so a value can hold
// anything; what was put in is not looked at again.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace outbox::config {

using Environment = std::function<std::optional<std::string>(const std::string& name)>;

Environment process_environment();

// A failure names the variable or the file, never a value.
Result<std::string> interpolate(std::string_view text, const Environment& environment);

}  // namespace outbox::config
