// The transaction that settles a batch.
#pragma once

#include <cstdint>

#include "model/delivery.h"
#include "store/postgres/session.h"
#include "store/store.h"

namespace outbox {

// As Store::settle().
Result<void> settle_batch(PgSession& session, const Feed& feed, std::uint64_t epoch, const SettleBatch& batch);

}  // namespace outbox
