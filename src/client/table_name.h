#pragma once

#include <string>

namespace outbox::client {

struct TableName {
  std::string schema;  // empty: found by the search path
  std::string table;
};

// "outbox" or "schema.outbox". Parts are plain identifiers, taken as they are written; anything else throws an Error
// that poisons nothing.
TableName parse_table_name(const std::string& text);

// In double quotes, for SQL.
std::string quoted(const TableName& name);

}  // namespace outbox::client
