// Text for people about what an endpoint did.
#pragma once

#include <curl/curl.h>

#include <string>
#include <string_view>

#include "sink/http/http_options.h"
#include "sink/http/url.h"

namespace outbox::http {

bool tls_failure(CURLcode code);

// One line: who answered what, where it pointed to, and how its body begins. Values of the configured headers and what
// of the URL may be secret (its query, long parts of its path) are masked, in case the endpoint echoes them.
std::string describe_answer(const Target& target, int status, std::string_view location, std::string_view body,
                            const HttpOptions& options);

}  // namespace outbox::http
