// enqueue for libpq. Rules: outbox/enqueue.h.
//
// One round trip for a call, however many messages it has; one more for the first call per connection and table, which
// asks the catalog for the payload's type. Needs INSERT on the table and SELECT on its id. The session's time zone,
// search path, client encoding and quoting rules do not matter.
//
// Refused without harm: no transaction open, a transaction that has failed already, a connection in pipeline mode or
// with a result still to be read. At REPEATABLE READ and SERIALIZABLE a duplicate that the transaction's snapshot
// cannot see is SQLSTATE 40001, which dooms the transaction: retryable.
#pragma once

#include <span>
#include <vector>

#include "outbox/enqueue.h"
#include "outbox/error.h"
#include "outbox/message.h"

struct pg_conn;  // libpq's PGconn

namespace outbox {

Enqueued enqueue(pg_conn* connection, const Message& message, const EnqueueOptions& options = {});

// In the order given, which is also the order of delivery within a key.
std::vector<Enqueued> enqueue(pg_conn* connection, std::span<const Message> messages,
                              const EnqueueOptions& options = {});

}  // namespace outbox
