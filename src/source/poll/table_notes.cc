#include "source/poll/table_notes.h"

#include <algorithm>

#include "db/postgres.h"

namespace outbox {

namespace {

bool leads_index(const std::vector<TableColumn>& columns, const std::string& name) {
  return std::any_of(columns.begin(), columns.end(), [&](const auto& c) { return c.name == name && c.leads_index; });
}

std::string type_of(const TableShape& shape, const std::string& column) {
  const auto found = shape.types.find(column);
  return found == shape.types.end() ? "" : found->second;
}

void note_order(const TableShape& shape, const std::vector<TableColumn>& columns, std::vector<std::string>& notes) {
  const auto table = db::pg_qualified(shape.table.table);
  const auto& order = shape.table.columns.at("order");
  if (order.empty()) {
    notes.push_back("no order is promised: the table has nothing to order by (columns.order). Exact order: " +
                    position_statement(shape.table.table));
    return;
  }
  notes.push_back("messages go in the order of " + order +
                  "; one that commits after a later one was read is found up to 5 s later, and younger messages of its "
                  "key may have gone before it, even if they were written after its commit. Exact order: " +
                  position_statement(shape.table.table));
  if (leads_index(columns, order)) return;
  const auto where = shape.table.sent == SentMode::mark
                         ? " where " + db::pg_identifier(shape.table.columns.at("published_at")) + " is null"
                         : "";
  notes.push_back("no index starts with " + order + ", so each poll sorts all unsent rows: create index on " + table +
                  " (" + db::pg_identifier(order) + ", " + db::pg_identifier(shape.table.columns.at("id")) + ")" +
                  where);
}

void note_id(const TableShape& shape, const std::vector<TableColumn>& columns, std::vector<std::string>& notes) {
  const auto& id = shape.table.columns.at("id");
  const auto column = std::find_if(columns.begin(), columns.end(), [&](const auto& c) { return c.name == id; });
  const auto alter = "alter table " + db::pg_qualified(shape.table.table);
  if (column->nullable) {
    const bool keeps = shape.table.sent == SentMode::keep;
    notes.push_back(id + " may be NULL, and rows without one " +
                    (keeps ? "are taken for one message" : "are not sent: the log names their number") + ": " + alter +
                    " alter column " + db::pg_identifier(id) + " set not null");
  }
  if (!column->distinct) {
    notes.push_back(id +
                    " is not unique, and rows of one id are taken for one message: one of them may be sent for "
                    "all: " +
                    alter + " add unique (" + db::pg_identifier(id) + ")");
  }
}

void note_position(const TableShape& shape, const std::vector<TableColumn>& columns, std::vector<std::string>& notes) {
  const auto& seq = shape.table.columns.at("seq");
  const auto& xid = shape.table.columns.at("xid");
  const auto on = "create index on " + db::pg_qualified(shape.table.table);
  if (!leads_index(columns, seq)) {
    notes.push_back("no index starts with " + seq + ", so each page reads the whole table: " + on + " (" +
                    db::pg_identifier(seq) + ", " + db::pg_identifier(xid) + ")");
  }
  if (!leads_index(columns, xid)) {
    notes.push_back("no index starts with " + xid + ", so each poll reads the whole table: " + on + " (" +
                    db::pg_identifier(xid) + ", " + db::pg_identifier(seq) + ")");
  }
}

}  // namespace

std::string position_statement(const std::string& table) {
  const auto name = db::pg_qualified(table);
  return "alter table " + name +
         " add xid xid8 not null default pg_current_xact_id(), add seq bigint generated always as identity; create "
         "index on " +
         name + " (seq, xid); create index on " + name + " (xid, seq)";
}

std::vector<std::string> notes_on(const TableShape& shape, const std::vector<TableColumn>& columns) {
  std::vector<std::string> notes;
  if (shape.table.sent == SentMode::keep) {
    note_position(shape, columns, notes);
  } else {
    note_order(shape, columns, notes);
  }
  note_id(shape, columns, notes);
  if (type_of(shape, "payload") == "jsonb") {
    notes.push_back(
        "the payload is jsonb: PostgreSQL has re-typed it at the insert (key order, spaces, repeated keys); "
        "json or bytea keep the bytes");
  }
  if (shape.table.columns.at("created_at").empty()) {
    notes.push_back("the table has no creation time: ages and the message's timestamp count from when it was read");
  }
  for (const auto* column : {"created_at", "published_at", "not_before"}) {
    if (type_of(shape, column) == "timestamp without time zone") {
      notes.push_back(shape.table.columns.at(column) + " has no time zone: it is taken as UTC");
    }
  }
  return notes;
}

}  // namespace outbox
