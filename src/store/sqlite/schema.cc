#include "store/sqlite/schema.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <span>
#include <system_error>

#include "db/sql_file.h"
#include "db/sqlite_table.h"

namespace outbox {

std::span<const SqlFile> sqlite_sql_files();

namespace {

using db::Sqlite;
using db::SqliteTransaction;

constexpr std::string_view kOutbox = "0001_outbox.up.sql";
constexpr std::string_view kState = "0001_state.up.sql";
constexpr std::string_view kUp = ".up.sql";

std::string_view sql_text(std::string_view name) {
  for (const auto& file : sqlite_sql_files()) {
    if (file.name == name) return file.text;
  }
  OUTBOX_ASSERT(false);
}

// Of the state: every file but the application's, in order. Each sets schema_version itself.
struct Step {
  int version = 0;
  std::string name;  // "0002_operations"
  std::string_view text;
};

std::vector<Step> state_steps() {
  std::vector<Step> steps;
  for (const auto& file : sqlite_sql_files()) {
    const std::string_view name(file.name);
    if (name == kOutbox || !name.ends_with(kUp)) continue;
    steps.push_back(
        {std::stoi(std::string(name.substr(0, 4))), std::string(name.substr(0, name.size() - kUp.size())), file.text});
  }
  return steps;
}

Result<std::string> prefix_of(const std::string& table) {
  constexpr std::string_view kName = "outbox";
  const bool plain = table.find_first_of(". \"'`;") == std::string::npos;
  if (plain && table.size() >= kName.size() && table.substr(table.size() - kName.size()) == kName) {
    return table.substr(0, table.size() - kName.size());
  }
  return Failure{FailureKind::invalid,
                 fmt::format("init: on SQLite a new table is called outbox, or PREFIX_outbox, not {}", table)};
}

Result<bool> has_table(Sqlite& connection, const std::string& name) {
  auto found =
      connection.integer("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ? COLLATE NOCASE", {name});
  if (!found) return found.failure();
  return found->has_value();
}

// Runs the migration unless its outbox_meta is there already. The journal mode cannot change inside a transaction, so
// the script's own PRAGMA has no effect there and is run before it.
Result<bool> migrate(Sqlite& connection, std::string_view name, const std::string& prefix, std::string_view capture) {
  const std::string meta = prefix + "outbox_meta";
  auto there = has_table(connection, meta);
  if (!there) return there.failure();
  if (*there) return false;

  auto wal = connection.text("PRAGMA journal_mode=WAL");
  if (!wal) return wal.failure();
  if (*wal != "wal") {
    return Failure{FailureKind::local, fmt::format("sqlite {}: cannot use write-ahead logging here (got {}); keep the "
                                                   "file on a local disk",
                                                   connection.file(), wal->value_or("nothing"))};
  }
  auto transaction = SqliteTransaction::begin(connection);
  if (!transaction) return transaction.failure();
  there = has_table(connection, meta);
  if (!there) return there.failure();
  if (*there) return false;
  auto done = connection.script(db::with_prefix(sql_text(name), prefix));
  if (!done) return done.failure();
  auto noted =
      connection.run(db::with_prefix("INSERT INTO outbox_meta (name, value) VALUES ('capture', ?)", prefix), {capture});
  if (!noted) return noted.failure();
  auto committed = transaction->commit();
  if (!committed) return committed.failure();
  return true;
}

// What could not be filled, as on a full disk. Whoever has begun to fill it meanwhile keeps it.
void remove_if_empty(const std::string& file) {
  std::error_code unknown;
  if (std::filesystem::file_size(file, unknown) == 0) std::filesystem::remove(file, unknown);
}

Result<int> state_version(Sqlite& state, const std::string& prefix) {
  auto version = state.text(db::with_prefix("SELECT value FROM outbox_meta WHERE name = 'schema_version'", prefix));
  if (!version) return version.failure();
  return *version ? std::atoi((*version)->c_str()) : 0;
}

// Makes the state's tables or brings them up to date; returns the names of what was applied. Tables that are one
// version ahead are those of the next outboxd, which runs beside this one.
Result<std::vector<std::string>> upgrade_state(Sqlite& state, const std::string& prefix, std::string_view capture) {
  std::vector<std::string> applied;
  auto made = migrate(state, kState, prefix, capture);
  if (!made) return made.failure();
  const auto steps = state_steps();
  if (*made) applied.push_back(steps.front().name);
  auto version = state_version(state, prefix);
  if (!version) return version.failure();
  const int newest = steps.back().version;
  if (*version < 1 || *version > newest + 1) {
    return Failure{FailureKind::invalid,
                   fmt::format("sqlite {}: its tables have version {}, this outboxd knows {}; use a newer outboxd",
                               state.file(), *version, newest)};
  }
  if (*version >= newest) return applied;
  auto transaction = SqliteTransaction::begin(state);
  if (!transaction) return transaction.failure();
  version = state_version(state, prefix);  // another process may have been faster
  if (!version) return version.failure();
  for (const Step& step : steps) {
    if (step.version <= *version) continue;
    auto done = state.script(db::with_prefix(step.text, prefix));
    if (!done) return done.failure();
    applied.push_back(step.name);
  }
  auto committed = transaction->commit();
  if (!committed) return committed.failure();
  return applied;
}

}  // namespace

std::string sqlite_state_file(const std::string& file) { return file + "-outboxd"; }

std::string sqlite_schema_sql(const InitOptions& options) {
  const auto prefix = prefix_of(options.table);
  const std::string names = prefix ? *prefix : "";
  std::string sql =
      fmt::format("-- {}: in the application's file\n{}", kOutbox, db::with_prefix(sql_text(kOutbox), names));
  for (const Step& step : state_steps()) {
    sql += fmt::format("\n-- {}{}: in the file FILE-outboxd beside it\n{}", step.name, kUp,
                       db::with_prefix(step.text, names));
  }
  return sql;
}

Result<Sqlite> open_sqlite_state(const std::string& file, const std::string& prefix) {
  const std::string name = sqlite_state_file(file);
  const bool is_new = ::access(name.c_str(), F_OK) != 0;
  if (is_new) {
    auto application = db::open_application(file, Sqlite::Mode::read);
    if (!application) return application.failure();
  }
  auto state = Sqlite::open(name, Sqlite::Mode::create);
  if (!state) return state.failure();
  auto upgraded = upgrade_state(*state, prefix, "poll");
  if (!upgraded) {
    if (is_new && !state->replaced()) remove_if_empty(name);
    return upgraded.failure();
  }
  return state;
}

Result<InitReport> init_sqlite(const std::string& file, const InitOptions& options) {
  if (options.capture != "poll") {
    return Failure{FailureKind::invalid,
                   fmt::format("init: capture {} is not there on SQLite; use poll", options.capture)};
  }
  InitReport report;
  report.version = state_steps().back().version;
  auto application = Sqlite::open(file, Sqlite::Mode::create);
  if (!application) return application.failure();
  auto adopted = has_table(*application, options.table);
  if (!adopted) return adopted.failure();

  std::string prefix;
  auto own = prefix_of(options.table);
  if (own) prefix = *own;
  if (!*adopted) {
    if (!own) return own.failure();
    auto made = migrate(*application, kOutbox, prefix, options.capture);
    if (!made) return made.failure();
    if (*made) report.applied.emplace_back("0001_outbox");
  }

  auto state = Sqlite::open(sqlite_state_file(file), Sqlite::Mode::create);
  if (!state) return state.failure();
  auto upgraded = upgrade_state(*state, prefix, options.capture);
  if (!upgraded) return upgraded.failure();
  report.applied.insert(report.applied.end(), upgraded->begin(), upgraded->end());
  return report;
}

}  // namespace outbox
