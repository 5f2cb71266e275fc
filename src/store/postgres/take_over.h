// Taking a feed over, and what has to be done first when the database was restored into another cluster.
#pragma once

#include "store/postgres/session.h"
#include "store/store.h"

namespace outbox {

// As Store::take_over().
Result<FeedState> take_feed_over(PgSession& session, const Feed& feed, const std::string& relay);

// Inside the caller's transaction, which has written nothing yet. Gives the rows that are not settled a transaction id
// of this cluster and moves every position to match: nothing is lost, and of what was settled only what the positions
// cannot vouch for comes again. Writes the whole table once.
Result<void> rebase_on_this_cluster(db::PgConnection& connection, const PgSession& session);

// Rows that carry ids which this cluster has not given out yet (loaded from elsewhere) get one of this transaction.
Result<void> restamp_future_rows(db::PgConnection& connection, const PgSession& session);

}  // namespace outbox
