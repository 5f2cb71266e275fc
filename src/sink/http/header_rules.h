// What may be a header on the wire (RFC 9110, 5.1 and 5.5). Pure functions.
#pragma once

#include <string_view>

namespace outbox::http {

bool header_name(std::string_view name);
// No control characters but the tab: a line break would begin another header.
bool header_value(std::string_view value);

bool same_header(std::string_view a, std::string_view b);

// Headers that the sink makes itself or that belong to the connection: neither a row nor a configuration sets them.
bool set_by_sink(std::string_view name);

}  // namespace outbox::http
