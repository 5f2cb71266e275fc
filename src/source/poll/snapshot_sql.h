// The statements of SnapshotSource, for a share of the keys.
#pragma once

#include <string>

#include "model/lanes.h"
#include "source/poll/table_shape.h"

namespace outbox {

// The current snapshot, and the time in microseconds since 1970.
inline constexpr const char* kProbeSql =
    "select pg_current_snapshot()::text, (extract(epoch from clock_timestamp()) * 1000000)::bigint";

// Bounds of the window and its first page in one round trip: hi, fresh_lo, lo, then record_columns().
// $1 S1, $2 S2, $3 number of rows, $4 only behind this seq. No row: nothing is left in the window.
std::string open_sql(const TableShape& shape, const Lanes& lanes);

// A page of the window: record_columns(). $1 S1, $2 S2, $3 number of rows, $4 last seq read, $5 fresh_lo, $6 hi.
std::string page_sql(const TableShape& shape, const Lanes& lanes);

}  // namespace outbox
