// Our tables on SQLite (sql/sqlite): the outbox in the application's file, the relay's state in FILE-outboxd beside it.
#pragma once

#include <string>

#include "base/result.h"
#include "db/sqlite.h"
#include "store/schema.h"

namespace outbox {

// What init_sqlite would run, both files, with a comment that says where each part belongs.
std::string sqlite_schema_sql(const InitOptions& options);

// Creates what is missing in both files; makes the application's file, too, if it is missing. A table of that name
// that is not ours is left as it is: it is being adopted, and only the state is made. Twice, and by two at once, is
// safe. Fails `invalid` for a table name that leaves no prefix ("billing_outbox" → "billing_").
Result<InitReport> init_sqlite(const std::string& file, const InitOptions& options);

// FILE-outboxd.
std::string sqlite_state_file(const std::string& file);

// Opens the relay's own file; brings older tables up to date, and makes file and tables when they are missing: only
// beside an application's file that can be read, and it leaves none behind that it could not fill.
Result<db::Sqlite> open_sqlite_state(const std::string& file, const std::string& prefix);

}  // namespace outbox
