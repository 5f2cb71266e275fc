// Retry-After (RFC 9110, 10.2.3): seconds, or a date in one of the three forms that HTTP knows.
#pragma once

#include <optional>
#include <string_view>

#include "base/time.h"

namespace outbox::http {

inline constexpr Duration kRetryAfterMax{24h};

// How long to wait, at most kRetryAfterMax. Nothing if the value is not understood, not positive, or in the past: the
// relay's own backoff counts then.
std::optional<Duration> parse_retry_after(std::string_view value, Time now);

}  // namespace outbox::http
