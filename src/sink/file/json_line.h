// A message as one line of JSON, as the file and stdout sinks write it (interface: "On the wire").
#pragma once

#include <string>

#include "base/result.h"
#include "model/record.h"

namespace outbox::file {

// Appends one object and a line feed: id, aggregate_type, aggregate_id, type, created_at (UTC, microseconds), then
// aggregate_version, schema_version and traceparent where the record has them, headers, and the payload: `payload` if
// it is JSON, which then stands as the database gave it, but on one line; `payload_base64` for other bytes; neither
// for an SQL null. `invalid`, and `out` as it was, if the headers are no object of strings.
Result<void> append_json_line(const Record& record, std::string& out);

}  // namespace outbox::file
