// Dead letters sent again, with another payload, or discarded.
#pragma once

#include "store/operator_store.h"
#include "store/postgres/session.h"

namespace outbox {

// As the functions of OperatorStore with these names; max_rows and the act of a step.
struct PgStep {
  std::size_t max_rows = 0;
  const Act& act;
};
Result<WalkStep> count_dead(PgSession& session, const DeadLetterWalk& walk, int replays_max);
Result<WalkStep> requeue_dead(PgSession& session, DeadLetterWalk& walk, int replays_max, const PgStep& step);
Result<WalkStep> discard_dead(PgSession& session, DeadLetterWalk& walk, const PgStep& step);
Result<bool> replace_dead(PgSession& session, std::int64_t row, const std::string& new_id, const std::string& payload,
                          int replays_max, const Act& act);

// In the caller's transaction: keeps the relays' settles out until it ends, so that neither side misses a row that the
// other is just lining up. A process that stops in between is cut off by the server.
Result<void> hold_relays(db::PgConnection& connection, const PgNames& names);

}  // namespace outbox
