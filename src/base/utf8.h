// Text of unknown origin (a peer's error message) made fit to be stored and shown.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace outbox {

// Well-formed UTF-8 without NUL, at most `max_bytes` long and cut between characters. What is ill-formed becomes '?'.
std::string valid_utf8(std::string_view text, std::size_t max_bytes);

}  // namespace outbox
