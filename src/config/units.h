// Durations and sizes as people write them: a number and its unit, nothing between. A bare number is refused, 0 too:
// which unit was meant is what goes wrong.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "base/time.h"

namespace outbox::config {

// "10ms" "1.5s" "5m" "2h" "7d"; exact in microseconds, never negative.
Result<Duration> parse_duration(std::string_view text);

// "512B" "64KB" "16MB" "1GB"; powers of 1024, exact in bytes.
Result<std::int64_t> parse_size(std::string_view text);

// The shortest exact way to write it.
std::string size_text(std::int64_t bytes);

}  // namespace outbox::config
