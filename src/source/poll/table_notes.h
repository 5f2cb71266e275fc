// What a table cannot promise, in words, and the statement that would buy it.
#pragma once

#include <string>
#include <vector>

#include "source/poll/table_columns.h"

namespace outbox {

// The ALTER TABLE that gives a table the columns and indexes of the exact way.
std::string position_statement(const std::string& table);

std::vector<std::string> notes_on(const TableShape& shape, const std::vector<TableColumn>& columns);

}  // namespace outbox
