// enqueue for SQLite. Rules: outbox/enqueue.h.
//
// The table is in the application's own file (`outboxd init --database sqlite:FILE`). Several messages in one call are
// stored together or not at all. sqlite3_last_insert_rowid() is left as it was.
//
// Begin such a transaction with BEGIN IMMEDIATE. A deferred one that has read and finds that somebody else has written
// since can never write: SQLite says so at once, whatever the busy time-out, and the Error is retryable and poisons
// the transaction. A writer that keeps the lock beyond the busy time-out is retryable and does not poison it.
#pragma once

#include <span>
#include <vector>

#include "outbox/enqueue.h"
#include "outbox/error.h"
#include "outbox/message.h"

struct sqlite3;

namespace outbox {

Enqueued enqueue(sqlite3* database, const Message& message, const EnqueueOptions& options = {});

// In the order given, which is also the order of delivery within a key.
std::vector<Enqueued> enqueue(sqlite3* database, std::span<const Message> messages, const EnqueueOptions& options = {});

}  // namespace outbox
