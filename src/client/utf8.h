#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace outbox::client {

// Length in bytes of the well-formed UTF-8 character at the beginning of `text` (which is not empty); 0 if there is
// none. Surrogates, overlong forms and what is beyond U+10FFFF are not well-formed.
std::size_t utf8_length(std::string_view text);

// Where the first ill-formed character is; empty if there is none.
std::optional<std::size_t> utf8_defect(std::string_view text);

}  // namespace outbox::client
