#include "db/sqlite_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sqlite3.h>

#include <algorithm>
#include <cctype>

namespace outbox::db {
namespace {

struct Field {
  const char* field;  // as the configuration calls it
  const char* ours;   // as our own table calls it
  bool needed;
};
constexpr Field kFields[] = {
    {"id", "id", true},
    {"aggregate_type", "aggregatetype", true},
    {"aggregate_id", "aggregateid", true},
    {"type", "type", true},
    {"payload", "payload", true},
    {"headers", "headers", false},
    {"created_at", "created_at", false},
    {"not_before", "not_before", false},
    {"aggregate_version", "aggregate_version", false},
    {"schema_version", "schema_version", false},
    {"traceparent", "traceparent", false},
};

struct TableInfo {
  std::vector<std::string> names;
  std::string rowid;  // the INTEGER PRIMARY KEY; empty: none
};

std::string quote_text(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) quoted.append(c == '\'' ? 2 : 1, c);
  return quoted + "'";
}

bool same_name(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

bool has(const TableInfo& info, std::string_view name) {
  return std::any_of(info.names.begin(), info.names.end(), [&](const auto& each) { return same_name(each, name); });
}

Result<TableInfo> table_info(Sqlite& application, const std::string& table) {
  TableInfo info;
  auto rows = application.query("SELECT name, type, pk FROM pragma_table_info(?)", {table});
  if (!rows) return rows.failure();
  int key_columns = 0;
  while (true) {
    auto row = rows->next();
    if (!row) return row.failure();
    if (!*row) break;
    info.names.emplace_back(rows->text(0));
    if (rows->integer(2) == 0) continue;
    ++key_columns;
    if (same_name(rows->text(1), "integer")) info.rowid = info.names.back();
  }
  if (key_columns != 1) info.rowid.clear();
  return info;
}

Failure missing(const Sqlite& application, const std::string& table, const TableInfo& info, const std::string& what) {
  return {FailureKind::invalid, fmt::format("sqlite {}: table {} {}; it has: {}", application.file(), table, what,
                                            fmt::join(info.names, ", "))};
}

}  // namespace

std::string quote_name(const std::string& name) {
  std::string quoted = "\"";
  for (const char c : name) quoted.append(c == '"' ? 2 : 1, c);
  return quoted + "\"";
}

std::string with_prefix(std::string_view sql, std::string_view prefix) {
  if (prefix.empty()) return std::string(sql);
  constexpr std::string_view kWord = "outbox";
  std::string result;
  std::size_t from = 0;
  for (auto at = sql.find(kWord); at != std::string_view::npos; at = sql.find(kWord, at + kWord.size())) {
    const auto before = at == 0 ? ' ' : sql[at - 1];
    if (std::isalnum(static_cast<unsigned char>(before)) != 0 || before == '_' || before == '-') continue;
    result.append(sql.substr(from, at - from)).append(prefix);
    from = at;
  }
  return result.append(sql.substr(from));
}

Result<Sqlite> open_application(const std::string& file, Sqlite::Mode mode, Duration busy) {
  auto opened = Sqlite::open(file, mode, busy);
  if (!opened) return opened.failure();
  // Closing the last connection would run a checkpoint under an exclusive lock: an application that opens the file at
  // that moment would be refused.
  sqlite3_db_config(opened->handle(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  auto quiet = opened->script("PRAGMA wal_autocheckpoint=0");
  if (!quiet) return quiet.failure();
  auto journal = opened->text("PRAGMA journal_mode");
  if (!journal) return journal.failure();
  if (*journal != "wal") {
    return Failure{
        FailureKind::invalid,
        fmt::format("sqlite {}: journal mode is {}, in which a reader makes the application's writes fail; run "
                    "outboxd init --database sqlite:{}, or PRAGMA journal_mode=WAL once",
                    file, journal->value_or("unknown"), file)};
  }
  return opened;
}

Result<SqliteTable> inspect_table(Sqlite& application, const std::string& table,
                                  const std::map<std::string, std::string>& columns,
                                  const std::map<std::string, std::string>& constants) {
  auto info = table_info(application, table);
  if (!info) return info.failure();
  if (info->names.empty()) {
    return Failure{FailureKind::invalid, fmt::format("sqlite {}: no table {}; run outboxd init --database sqlite:{}",
                                                     application.file(), table, application.file())};
  }
  SqliteTable result;
  result.plain = table;
  result.name = quote_name(table);
  for (const auto& [field, ours, needed] : kFields) {
    const auto named = columns.find(field);
    const auto constant = constants.find(field);
    if (named != columns.end() && !named->second.empty()) {
      if (!has(*info, named->second)) {
        return missing(application, table, *info, fmt::format("has no column {} (columns.{})", named->second, field));
      }
      result.columns[field] = quote_name(named->second);
    } else if (constant != constants.end()) {
      result.columns[field] = quote_text(constant->second);
    } else if (named == columns.end() && has(*info, ours)) {
      result.columns[field] = quote_name(ours);
    } else if (needed) {
      return missing(
          application, table, *info,
          fmt::format("has no column {}: name its own with columns.{}, or a constants.{}", ours, field, field));
    } else {
      result.columns[field] = "NULL";
    }
  }

  const auto seq = columns.find("seq");
  if (info->rowid.empty() || (seq != columns.end() && !seq->second.empty() && !same_name(seq->second, info->rowid))) {
    return missing(application, table, *info,
                   "cannot be followed: that takes an INTEGER PRIMARY KEY (columns.seq), whose numbers only grow");
  }
  result.seq = quote_name(info->rowid);
  auto sql =
      application.text("SELECT sql FROM sqlite_schema WHERE type = 'table' AND name = ? COLLATE NOCASE", {table});
  if (!sql) return sql.failure();
  std::string upper = sql->value_or("");
  std::transform(upper.begin(), upper.end(), upper.begin(), [](unsigned char c) { return std::toupper(c); });
  result.autoincrement = upper.find("AUTOINCREMENT") != std::string::npos;
  if (!result.autoincrement) {
    result.notes.push_back(fmt::format(
        "table {}: {} is no AUTOINCREMENT: after the newest rows were deleted their numbers are given out again, and a "
        "message with such a number may be missed; never delete the newest row, or make the column AUTOINCREMENT",
        table, info->rowid));
  }
  return result;
}

Result<std::int64_t> last_seq(Sqlite& application, const SqliteTable& table) {
  std::int64_t last = 0;
  if (table.autoincrement) {
    auto given = application.integer("SELECT seq FROM sqlite_sequence WHERE name = ? COLLATE NOCASE", {table.plain});
    if (!given) return given.failure();
    last = given->value_or(0);
  }
  auto highest = application.integer(fmt::format("SELECT max({}) FROM {}", table.seq, table.name));
  if (!highest) return highest.failure();
  return std::max(last, highest->value_or(0));
}

Result<std::optional<std::string>> message_at(Sqlite& application, const SqliteTable& table, std::int64_t seq) {
  return application.text(
      fmt::format("SELECT CAST({} AS TEXT) FROM {} WHERE {} = ?", table.column("id"), table.name, table.seq), {seq});
}

Result<bool> stands(Sqlite& application, const SqliteTable& table, const ReadRow& row) {
  auto there = message_at(application, table, row.seq);
  if (!there) return there.failure();
  if (*there) return *there == row.id;
  auto last = last_seq(application, table);
  if (!last) return last.failure();
  return *last >= row.seq;
}

}  // namespace outbox::db
