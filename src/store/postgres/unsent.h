// The rows of the outbox table that a feed has not sent.
#pragma once

#include <optional>

#include "store/postgres/session.h"
#include "store/store.h"

namespace outbox {

struct Unsent {
  std::int64_t rows = 0;
  bool capped = false;         // counting stopped: there are more than `rows`
  std::optional<Time> oldest;  // created_at, of the first hundred of each kind of unsent row
};

// Costs the same however many rows there are before the feed's position, behind it, or in the window that it is in.
// A feed without a position, but from the beginning, has sent none.
Result<Unsent> count_unsent(PgSession& session, const Feed& feed);

}  // namespace outbox
