// What a request carries beside its body.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "sink/http/http_options.h"
#include "sink/sink.h"

namespace outbox::http {

// The header lines of one attempt, without line ends: Idempotency-Key, outbox-attempt, the wire headers (model/
// headers.h), the configured ones and the signature. `now` is this attempt's time. `invalid` if the message's headers
// cannot go over HTTP: no object of strings, a control character, or a name that a row cannot set.
Result<std::vector<std::string>> header_lines(const Publication& publication, const HttpOptions& options, Time now);

}  // namespace outbox::http
