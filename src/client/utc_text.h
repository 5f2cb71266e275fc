#pragma once

#include <chrono>
#include <string>

namespace outbox::client {

// 2026-01-31T12:00:00.000000Z: read the same by SQLite's date functions and by PostgreSQL in every session. For the
// years 1 to 9999.
std::string utc_text(std::chrono::sys_time<std::chrono::microseconds> time);

}  // namespace outbox::client
