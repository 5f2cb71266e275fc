// Records out of rows of an outbox table, whatever its columns are called.
#pragma once

#include <memory>
#include <string>

#include "db/postgres.h"
#include "model/record.h"
#include "source/poll/table_shape.h"

namespace outbox {

// How many columns record_columns() selects.
inline constexpr int kRecordColumns = 13;

// The select list for table alias `t`. The first column is called m_seq. m_xid of rows that are marked or deleted is
// their version, xmin; 0 where they have none.
std::string record_columns(const TableShape& shape);

// The lane of a row's key; of our own table the column, which its indexes have.
std::string lane_expression(const TableShape& shape);

// From a binary one-row result, whose column `first` is the first of record_columns().
std::shared_ptr<Record> read_record(const db::PgRows& row, int first, bool payload_is_json);

// The quoted name of one of our columns, with the alias `t`.
std::string column_of(const TableShape& shape, const std::string& ours);

}  // namespace outbox
