// Times as people store them in SQLite, which has no type for them.
#pragma once

#include <optional>
#include <string_view>

#include "base/time.h"
#include "db/sqlite.h"

namespace outbox::db {

// "2026-01-31 12:00:00", "2026-01-31T12:00:00.123456Z", "…+05:30", "2026-01-31". Without a zone it is UTC, as in
// SQLite's own date functions. Nothing for anything else.
std::optional<Time> parse_sqlite_time(std::string_view text);

// The same for a column of any type. Numbers are judged by their size: seconds, milliseconds or microseconds since
// 1970; a real below ten million is a Julian day. Nothing for NULL and for what cannot be read.
std::optional<Time> read_sqlite_time(const SqliteRows& rows, int column);

}  // namespace outbox::db
