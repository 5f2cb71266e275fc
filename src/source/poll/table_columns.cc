#include "source/poll/table_columns.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "db/postgres.h"
#include "model/lanes.h"
#include "source/poll/table_notes.h"

namespace outbox {

namespace {

enum class Need { always, unless_constant, no };

// One of our columns: its name in the configuration, in our own table, and the types that can stand for it.
struct Known {
  std::string_view name;
  std::string_view own;
  Need need;
  std::string_view types;  // separated by commas; "" any
};

constexpr std::string_view kText = "text,character varying,character";
constexpr std::string_view kTime = "timestamp with time zone,timestamp without time zone";
constexpr std::string_view kInteger = "bigint,integer,smallint";
constexpr std::array kKnown{
    Known{"id", "id", Need::always, "uuid,text,character varying,character,bigint,integer,smallint"},
    Known{"aggregate_type", "aggregatetype", Need::unless_constant, ""},
    Known{"aggregate_id", "aggregateid", Need::unless_constant, ""},
    Known{"type", "type", Need::unless_constant, ""},
    Known{"payload", "payload", Need::always, "json,jsonb,text,character varying,character,bytea"},
    Known{"headers", "headers", Need::no, "jsonb,json,text,character varying"},
    Known{"created_at", "created_at", Need::no, kTime},
    Known{"published_at", "published_at", Need::no, kTime},
    Known{"seq", "seq", Need::no, "bigint"},
    Known{"xid", "xid", Need::no, "xid8"},
    Known{"order", "", Need::no, ""},
    Known{"not_before", "not_before", Need::no, kTime},
    Known{"aggregate_version", "aggregate_version", Need::no, kInteger},
    Known{"schema_version", "schema_version", Need::no, "integer,smallint"},
    Known{"traceparent", "traceparent", Need::no, kText},
};

const TableColumn* find(const std::vector<TableColumn>& columns, std::string_view name) {
  const auto found = std::find_if(columns.begin(), columns.end(), [&](const auto& c) { return c.name == name; });
  return found == columns.end() ? nullptr : &*found;
}

bool fits(const Known& known, const TableColumn& column) {
  const auto types = split(known.types, ',');
  return known.types.empty() || std::find(types.begin(), types.end(), column.type) != types.end();
}

bool is_text(const std::string& type) {
  const auto texts = split(kText, ',');
  return std::find(texts.begin(), texts.end(), type) != texts.end();
}

std::string names_of(const std::vector<TableColumn>& columns, std::string_view wanted) {
  std::vector<std::string> names;
  names.reserve(columns.size());
  for (const auto& column : columns) names.push_back(column.name);
  const auto near = nearest(wanted, names);
  return (near.empty() ? "" : "the nearest is " + near + "; ") + "it has " + join(names, ", ");
}

Failure invalid(const TableMapping& mapping, const std::string& what) {
  return {FailureKind::invalid, "table " + mapping.table + ": " + what};
}

// The column that stands for `known`: as mapped, or under one of our names. Null: there is none.
Result<const TableColumn*> choose(const TableMapping& mapping, const std::vector<TableColumn>& columns,
                                  const Known& known) {
  const std::string name(known.name);
  const auto mapped = mapping.columns.find(name);
  if (mapped != mapping.columns.end() && !mapped->second.empty()) {
    const auto* column = find(columns, mapped->second);
    if (column == nullptr) {
      return invalid(mapping, "columns." + name + " names " + mapped->second + ", which it does not have; " +
                                  names_of(columns, mapped->second));
    }
    if (!fits(known, *column)) {
      return invalid(mapping, "columns." + name + ": " + column->name + " is of type " + column->type +
                                  "; it can be one of " + std::string(known.types));
    }
    return column;
  }
  if (mapped != mapping.columns.end() || mapping.constants.count(name) > 0) return nullptr;
  for (const auto candidate : {known.own, known.name}) {
    const auto* column = candidate.empty() ? nullptr : find(columns, candidate);
    if (column != nullptr && known.name != "order" && fits(known, *column)) return column;
  }
  return nullptr;
}

Result<void> check_words(const TableMapping& mapping) {
  std::vector<std::string> names;
  names.reserve(kKnown.size());
  for (const auto& known : kKnown) names.emplace_back(known.name);
  for (const auto& [name, column] : mapping.columns) {
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      return invalid(mapping, "columns." + name + " is not one of " + join(names, ", "));
    }
  }
  for (const auto& [name, value] : mapping.constants) {
    if (name != "aggregate_type" && name != "aggregate_id" && name != "type" && name != "schema_version") {
      return invalid(mapping, "constants." + name +
                                  ": only aggregate_type, aggregate_id, type and schema_version can be constant");
    }
    if (name == "schema_version" &&
        (value.empty() || value.size() > 9 || value.find_first_not_of("0123456789") != std::string::npos)) {
      return invalid(mapping, "constants.schema_version: " + value + " is not a number");
    }
    const auto mapped = mapping.columns.find(name);
    if (mapped != mapping.columns.end() && !mapped->second.empty()) {
      return invalid(mapping, name + " is both a column and a constant: leave one of them out");
    }
  }
  return {};
}

// A column that is called lane proves nothing: only one that the database computes as we would may choose the relay.
std::string lane_column(const TableMapping& table, const std::vector<TableColumn>& columns) {
  const auto hashed =
      "md5(((" + table.columns.at("aggregate_type") + " || ':'::text) || " + table.columns.at("aggregate_id") + "))";
  for (const auto& column : columns) {
    const auto& expression = column.generated;
    if (expression.find(hashed) != std::string::npos &&
        expression.find("% " + std::to_string(kLanes)) != std::string::npos) {
      return column.name;
    }
  }
  return {};
}

Result<void> decide_sent(TableShape& shape) {
  auto& table = shape.table;
  const bool has_mark = !table.columns["published_at"].empty();
  if (!table.sent_given) {
    if (shape.positions) {
      table.sent = SentMode::keep;
    } else if (has_mark) {
      table.sent = SentMode::mark;
    } else {
      return invalid(table,
                     "nothing in it says what was sent. Choose: sent: delete; or name a timestamp column in "
                     "columns.published_at; or add the columns of a position: " +
                         position_statement(table.table));
    }
  }
  if (table.sent == SentMode::keep && !shape.positions) {
    return invalid(table,
                   "sent: keep needs the columns xid (xid8) and seq (bigint): " + position_statement(table.table));
  }
  if (table.sent == SentMode::mark && !has_mark) {
    return invalid(table, "sent: mark needs a timestamp column, named in columns.published_at");
  }
  return {};
}

// A position passes every row that it does not see: one without a number or a transaction, or the twin of one that is
// settled ahead of it, would count as sent.
Result<void> check_position(const TableShape& shape, const std::vector<TableColumn>& columns) {
  const auto& table = shape.table;
  const auto alter = "alter table " + db::pg_qualified(table.table);
  const std::string instead = table.columns.at("published_at").empty() ? "sent: delete" : "sent: mark";
  for (const auto* ours : {"seq", "xid"}) {
    const auto* column = find(columns, table.columns.at(ours));
    if (!column->nullable) continue;
    return invalid(table, column->name +
                              " may be NULL, and such a row would never be sent: fill in what is NULL, then " + alter +
                              " alter column " + db::pg_identifier(column->name) + " set not null; or say " + instead);
  }
  const auto* seq = find(columns, table.columns.at("seq"));
  if (seq->distinct) return {};
  return invalid(table, seq->name +
                            " is drawn from no sequence and is not unique, and of rows with one number some would "
                            "never be sent: " +
                            alter + " add unique (" + db::pg_identifier(seq->name) +
                            "); or name another in columns.seq, like one " +
                            "that is generated always as identity; or say " + instead);
}

}  // namespace

Result<TableShape> resolve_shape(const TableMapping& mapping, const std::vector<TableColumn>& columns) {
  if (auto words = check_words(mapping); !words) return words.failure();
  TableShape shape;
  shape.table = mapping;
  for (const auto& known : kKnown) {
    const std::string name(known.name);
    auto column = choose(mapping, columns, known);
    if (!column) return column.failure();
    const bool constant = mapping.constants.count(name) > 0;
    if (*column == nullptr && (known.need == Need::always || (known.need == Need::unless_constant && !constant))) {
      return invalid(mapping, "no column for " + name + "; say columns." + name +
                                  (known.need == Need::always ? "" : " or constants." + name) + "; " +
                                  names_of(columns, known.own));
    }
    shape.table.columns[name] = *column == nullptr ? "" : (*column)->name;
    if (*column != nullptr) shape.types[name] = (*column)->type;
  }
  auto& order = shape.table.columns["order"];
  if (order.empty() && mapping.columns.count("order") == 0) {
    const auto& seq = shape.table.columns["seq"];
    order = seq.empty() ? shape.table.columns["created_at"] : seq;
  }
  if (const auto* column = find(columns, order)) {
    shape.types["order"] = column->type;
    shape.order_nullable = column->nullable;
  }
  const auto* id = find(columns, shape.table.columns["id"]);
  shape.id_missing = id->nullable || is_text(id->type);
  shape.table.columns["lane"] = lane_column(shape.table, columns);
  shape.positions = !shape.table.columns["xid"].empty() && !shape.table.columns["seq"].empty();
  if (auto decided = decide_sent(shape); !decided) return decided.failure();
  if (shape.table.sent == SentMode::keep) {
    if (auto checked = check_position(shape, columns); !checked) return checked.failure();
  }
  shape.notes = notes_on(shape, columns);
  return shape;
}

}  // namespace outbox
