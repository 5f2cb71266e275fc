// Which column of a table is which of ours: the part of inspect_postgres_table that needs no database.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "source/poll/table_shape.h"

namespace outbox {

// A column as the catalogue has it.
struct TableColumn {
  std::string name;
  std::string type;  // without length: "character varying"
  bool nullable = true;
  bool leads_index = false;  // some index starts with it
  std::string generated{};   // the expression of a stored generated column
  bool distinct = false;     // a unique index of it alone, or numbers drawn from a sequence
};

Result<TableShape> resolve_shape(const TableMapping& mapping, const std::vector<TableColumn>& columns);

}  // namespace outbox
