// What enqueue has to know about the outbox table on PostgreSQL before it may insert: a statement that does not fit the
// table would doom the caller's transaction.
#pragma once

#include <string>

#include "client/table_name.h"
#include "outbox/detail/postgres_session.h"

namespace outbox::client {

enum class PayloadColumn { json, jsonb, bytea, text };

struct PostgresTable {
  PayloadColumn payload = PayloadColumn::json;
  bool any_character = true;  // the database's encoding holds all of Unicode
};

// From the catalog, by a query that cannot fail, once per connection and table; then from memory. Throws an Error that
// poisons nothing if there is no such table, it has no payload, or the user may not insert.
PostgresTable find_postgres_table(detail::PostgresSession& session, const TableName& name);

// After a statement that did not fit: the table has changed, the next call looks again.
void forget_postgres_table(const detail::PostgresSession& session, const TableName& name);

}  // namespace outbox::client
