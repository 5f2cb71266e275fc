// What an outbox table on PostgreSQL really has, and what that lets us promise (interface: "Configuration", outbox).
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/lanes.h"
#include "model/table.h"
#include "source/source.h"

namespace outbox {

struct TableShape {
  // Resolved: every column of the interface's list has an entry, the table's own name or "" where it has none;
  // `constants` fill the gaps; `sent` is decided. The store is made with this.
  TableMapping table;
  std::map<std::string, std::string> types;  // our column → the table's type: "uuid", "jsonb", "character varying"
  bool positions = false;                    // xid and seq are there: the exact way, a position per sink
  bool order_nullable = false;               // the order column may hold NULL
  bool id_missing = false;                   // a row may have no id: NULL, or a text that is empty
  bool has_versions = false;                 // its rows have an xmin (not those of a view or of a foreign table)
  // One line each: what this table cannot promise, and the statement that would buy it.
  std::vector<std::string> notes;
};

// Connects, looks, and closes. A column that is mapped and not there, or needed and neither there, mapped nor constant
// is `invalid`, with the nearest names; so is a foreign table that has nothing to remember what was sent, with the
// choices; a missing table too.
Result<TableShape> inspect_postgres_table(const std::string& url, const TableMapping& mapping);

// Position mode where shape.table.sent is keep, of the rows of these lanes; flag mode (mark, delete) otherwise, of all
// rows. Does not connect: open() does.
std::unique_ptr<Source> make_postgres_source(const std::string& url, const TableShape& shape, const Lanes& lanes = {});

}  // namespace outbox
