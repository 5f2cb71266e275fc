// Our tables on PostgreSQL: created, upgraded, shown, removed. The migrations are the files of sql/postgresql.
#pragma once

#include <string>

#include "base/result.h"
#include "store/schema.h"

namespace outbox {

// The SQL that init runs on an empty database, runnable by psql. Touches nothing. `invalid` for an unknown payload.
Result<std::string> postgres_schema_sql(const InitOptions& options);

// Creates or upgrades, in one transaction; safe to run twice and by two at once. Where a table of that name exists
// that is not ours, only the side tables are made beside it, and the table is not touched. Needs PostgreSQL 13 and a
// server that takes writes (`refused` on a standby).
Result<InitReport> init_postgres(const std::string& url, const InitOptions& options);

// Runs the down migrations, newest first: the side tables go, and the outbox table too if it is ours, with all that is
// in them.
Result<InitReport> drop_postgres(const std::string& url, const InitOptions& options);

}  // namespace outbox
