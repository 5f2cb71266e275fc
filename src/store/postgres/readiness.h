// What has to be so before a relay can work on a PostgreSQL database: our tables, and the role's privileges.
#pragma once

#include <string>
#include <vector>

#include "db/postgres.h"
#include "model/table.h"
#include "store/postgres/session.h"
#include "store/schema.h"

namespace outbox {

// Fails where our tables are missing or those of an older version.
Result<void> check_made(db::PgConnection& connection, const PgSession& session);
// The same, and on a standby.
Result<void> check_usable(db::PgConnection& connection, const PgSession& session);
// The same, with a connection of its own.
Result<void> check_postgres_tables(const std::string& url, const TableMapping& table);

// What the connection's role lacks of the privileges in docs/guide/operations.md. `table` is resolved
// (TableShape::table); `deletes`: sent rows are deleted after a time.
Result<std::vector<MissingGrant>> missing_postgres_grants(const std::string& url, const TableMapping& table,
                                                          bool deletes);

}  // namespace outbox
