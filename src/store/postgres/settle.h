// The transaction that settles a batch.
#pragma once

#include <cstdint>

#include "model/delivery.h"
#include "store/postgres/session.h"
#include "store/store.h"

namespace outbox {

// As Store::settle(). Rows are marked or deleted only in the version that was read (Record::xid, unless 0). A mark that
// is accepted and takes no effect is `invalid` too; where nothing is parked, the other marks of the batch stand then,
// and repeating them does no harm.
Result<void> settle_batch(PgSession& session, const Feed& feed, std::uint64_t epoch, const SettleBatch& batch);

}  // namespace outbox
