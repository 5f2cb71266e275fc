// JSON text without a JSON library: what a payload needs to get onto one line, fast enough for the hot path.
// Everything appends to `out`. Pure functions.
#pragma once

#include <string>
#include <string_view>

namespace outbox::file {

// Appends valid JSON as it stands, on one line: line breaks between its tokens become blanks, nothing else changes.
// False, and `out` as it was, if the text is not JSON (RFC 8259) or not UTF-8. Any depth of nesting is fine.
bool append_one_line(std::string_view json, std::string& out);

// Appends standard base64 with padding, without quotes.
void append_base64(std::string_view bytes, std::string& out);

}  // namespace outbox::file
