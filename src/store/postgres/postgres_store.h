// Store on PostgreSQL: our side tables beside the outbox table (sql/postgresql/0002_state.up.sql).
//
// All statements are unnamed and set nothing for the session, so the store works behind a transaction pooler. (The
// source, source/poll, prepares its statements and does not.)
#pragma once

#include <memory>
#include <string>

#include "model/table.h"
#include "store/store.h"

namespace outbox {

// `table`: resolved, every column that the table has by its real name (source/poll/table_shape.h, TableShape::table).
// Does not connect: the first call does.
std::unique_ptr<Store> make_postgres_store(const std::string& url, const TableMapping& table);

}  // namespace outbox
