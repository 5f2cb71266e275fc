// The application's file: how it is opened, and what its outbox table looks like.
//
// It is never locked against its owner: connections for reading run no checkpoint (the application's own do), take no
// write lock, and keep no read transaction open between calls.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "db/last_read.h"
#include "db/sqlite.h"

namespace outbox::db {

// Opens the application's file, which has to exist and to be in WAL mode: in every other mode a reader makes the
// application's commits fail.
Result<Sqlite> open_application(const std::string& file, Sqlite::Mode mode, Duration busy = 5s);

// An outbox table by its own names. SQL texts ask column() for an expression, constant or "NULL" where it has none.
struct SqliteTable {
  std::string plain;  // the table's name as it is
  std::string name;   // quoted
  std::string seq;    // quoted: the INTEGER PRIMARY KEY
  std::map<std::string, std::string> columns;
  bool autoincrement = false;
  std::vector<std::string> notes;  // what cannot be promised with this table, and what buys it; one line each

  const std::string& column(const std::string& field) const { return columns.at(field); }
};

// `columns`: our field → the table's name, "" for none; a field that is not named is looked for under our own name.
// `constants`: field → text. Fails `invalid`, with the names there are, when a named or needed column is missing, and
// when the table has no INTEGER PRIMARY KEY.
Result<SqliteTable> inspect_table(Sqlite& application, const std::string& table,
                                  const std::map<std::string, std::string>& columns,
                                  const std::map<std::string, std::string>& constants);

// The highest seq that was ever committed; 0 where there was none.
Result<std::int64_t> last_seq(Sqlite& application, const SqliteTable& table);

// The id of the message at `seq`; nothing if there is no such row (any more).
Result<std::optional<std::string>> message_at(Sqlite& application, const SqliteTable& table, std::int64_t seq);

// False: the file is not the one that `row` was read from, or it was restored to a state before it. A row that is gone
// says nothing, as long as numbers never went back: its owner, or retention, has deleted it.
Result<bool> stands(Sqlite& application, const SqliteTable& table, const ReadRow& row);

std::string quote_name(const std::string& name);

// Our side tables by prefix: every word in `sql` that begins with "outbox" gets it.
std::string with_prefix(std::string_view sql, std::string_view prefix);

}  // namespace outbox::db
