// The headers column: a JSON object of strings; an array of strings is a repeated header (interface: "Configuration").
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "model/record.h"

namespace outbox {

using HeaderList = std::vector<std::pair<std::string, std::string>>;

// In the object's order. `invalid` if it is not an object of strings or arrays of strings, or a name is empty, or a
// name or value holds a NUL. Empty text gives an empty list without parsing.
Result<HeaderList> parse_headers(std::string_view json);

// What every sink sends with a message: message-id, message-type, aggregate-type, aggregate-id, content-type, then
// aggregate-version, schema-version and traceparent where the record has them, then the row's own headers. Where a
// header of the row has one of these names too, the column counts; content-type is the row's own if it has one.
Result<HeaderList> wire_headers(const Record& record);

// The object with this header set, instead of any that it had under the name. `invalid` as parse_headers().
Result<std::string> with_header(std::string_view json, std::string_view name, const std::string& value);

// On a message that was sent in place of a dead letter: the id of that one.
inline constexpr std::string_view kReplacesHeader = "replaces";

// Names that a row cannot set (interface: Host, Content-Length, Transfer-Encoding, Connection, Authorization,
// webhook-*, Nats-*), compared without case.
bool reserved_header(std::string_view name);

}  // namespace outbox
