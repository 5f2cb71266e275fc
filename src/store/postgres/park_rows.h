// Rows of outbox_delivery: written when a batch is settled, read when they are due. Inside a transaction of the caller.
#pragma once

#include <vector>

#include "db/postgres.h"
#include "model/delivery.h"
#include "store/postgres/names.h"

namespace outbox {

// Inserts what is parked, in order. A waiting row gets a next_attempt_at only if nothing stands in its key's way.
Result<void> insert_parked(db::PgConnection& connection, const PgNames& names, const std::vector<Park>& parks);

// What fails by its own fault for the first time counts as parked since now (Parked::failing_since).
Result<void> update_parked(db::PgConnection& connection, const PgNames& names,
                           const std::vector<ParkedUpdate>& updates);

// Of each key that the batch touched, the first row that now stands in front becomes due at once, if it was lined up
// behind another one. Last, so that it sees all that was written.
Result<void> promote_heads(db::PgConnection& connection, const PgNames& names, const SettleBatch& batch);

// The same for keys that are known by (sink, key).
Result<void> promote_heads(db::PgConnection& connection, const PgNames& names, const std::vector<std::string>& sinks,
                           const std::vector<std::string>& keys);

// The columns that parked_from() reads, of a row `d`.
std::string parked_columns();
inline constexpr int kParkedColumns = 19;
Parked parked_from(const db::PgRows& rows, int row);

}  // namespace outbox
