// Position: how far one sink has come in an outbox table. On PostgreSQL that is a place in a window
// between two snapshots, as PgQ reads its queues; how it is stored: docs/adr/0010-postgresql-state.md.
//
// All that is visible in `from` is settled; of what is visible in `to` but not in `from`, all up to and including
// `seq`. Both are opaque text: on PostgreSQL a pg_snapshot. `to` is empty between two windows. On SQLite, whose
// single writer makes the row id a commit order, both stay empty and `seq` alone is the cursor.
//
// `ahead` is a bounded set of further rows that are settled although something before them is not: it spares a restart
// the repetition of what overtook one slow message. A seq alone does not say which row is meant: a sequence may be set
// back (TRUNCATE … RESTART IDENTITY), and a new row has the number of an old one then.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace outbox {

struct RowRef {
  std::int64_t seq = 0;
  std::uint64_t xid = 0;  // as in Record: 0 where the table has no such column

  bool operator==(const RowRef&) const = default;
};

struct Position {
  std::string from;
  std::string to;
  std::int64_t seq = 0;
  std::vector<RowRef> ahead;

  bool operator==(const Position&) const = default;
};

// The window that a page of records belongs to. Records of one window come in ascending seq; those of one seq (its
// numbering was set back meanwhile) come on one page.
struct Window {
  std::string from;
  std::string to;

  bool operator==(const Window&) const = default;
};

}  // namespace outbox
