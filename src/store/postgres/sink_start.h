// Where a sink that began with `from: now` began: what it passed over and never sent. Kept in outbox_meta, as a
// snapshot under start:SINK, until the sink is forgotten or the database is restored elsewhere.
#pragma once

#include <string>

#include "store/postgres/session.h"
#include "store/store.h"

namespace outbox {

// True: the feed has no position yet and would begin now. In the transaction of its take-over.
Result<bool> begins_now(db::PgConnection& connection, const PgSession& session, const Feed& feed);

// Remembers that it began with `snapshot`, and says in the log how many rows that passes over. In the same transaction.
Result<void> note_start(db::PgConnection& connection, const PgSession& session, const Feed& feed,
                        const std::string& snapshot);

Result<void> forget_start(db::PgConnection& connection, const PgSession& session, const std::string& sink);
// What a statement adds where transaction ids begin anew: snapshots of the old ones mean nothing.
std::string sql_forget_starts(const PgSession& session);

// True for a row with this xid that was there before the sink of position `p` began.
std::string sql_skipped(const PgSession& session, const std::string& xid, const std::string& p);

}  // namespace outbox
