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
constexpr int kVersion = 1;

std::string_view sql_text(std::string_view name) {
  for (const auto& file : sqlite_sql_files()) {
    if (file.name == name) return file.text;
  }
  OUTBOX_ASSERT(false);
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

}  // namespace

std::string sqlite_state_file(const std::string& file) { return file + "-outboxd"; }

std::string sqlite_schema_sql(const InitOptions& options) {
  const auto prefix = prefix_of(options.table);
  const std::string names = prefix ? *prefix : "";
  return fmt::format("-- {}: in the application's file\n{}\n-- {}: in the file FILE-outboxd beside it\n{}", kOutbox,
                     db::with_prefix(sql_text(kOutbox), names), kState, db::with_prefix(sql_text(kState), names));
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
  auto made = migrate(*state, kState, prefix, "poll");
  if (!made) {
    if (is_new && !state->replaced()) remove_if_empty(name);
    return made.failure();
  }
  auto version = state->text(db::with_prefix("SELECT value FROM outbox_meta WHERE name = 'schema_version'", prefix));
  if (!version) return version.failure();
  if (version->value_or("") != std::to_string(kVersion)) {
    return Failure{FailureKind::invalid,
                   fmt::format("sqlite {}: its tables have version {}, this outboxd knows {}; use a newer outboxd",
                               state->file(), version->value_or("none"), kVersion)};
  }
  return state;
}

Result<InitReport> init_sqlite(const std::string& file, const InitOptions& options) {
  if (options.capture != "poll") {
    return Failure{FailureKind::invalid,
                   fmt::format("init: capture {} is not there on SQLite; use poll", options.capture)};
  }
  InitReport report;
  report.version = kVersion;
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

  auto before = Sqlite::open(sqlite_state_file(file), Sqlite::Mode::create);
  if (!before) return before.failure();
  auto made = migrate(*before, kState, prefix, options.capture);
  if (!made) return made.failure();
  if (*made) report.applied.emplace_back("0001_state");
  return report;
}

}  // namespace outbox
