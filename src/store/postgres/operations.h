// What is not on the hot path: heartbeats, status, retention.
#pragma once

#include "store/postgres/session.h"
#include "store/store.h"

namespace outbox {

// As the functions of Store with these names.
Result<void> write_heartbeat(PgSession& session, const Heartbeat& beat);
Result<StoreStatus> read_status(PgSession& session, const std::vector<Feed>& feeds);
Result<std::int64_t> prune_rows(PgSession& session, const std::vector<Feed>& feeds, const Store::Retention& retention,
                                std::int64_t max_rows, bool dry_run);

}  // namespace outbox
