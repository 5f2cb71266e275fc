#include "store/postgres/schema.h"

#include <algorithm>

#include "db/postgres.h"
#include "store/postgres/migrations.h"
#include "store/postgres/names.h"

namespace outbox {

namespace {

constexpr int kOldestServer = 130000;
constexpr const char* kLock = "select pg_advisory_xact_lock(7310869743457329016)";

struct Installed {
  int version = 0;
  bool adopted = false;
};

std::string meta_sql(const InitOptions& options, int version, bool adopted) {
  const auto meta = with_names("outbox_meta", options.table);
  return "insert into " + meta + " (name, value) values\n  ('schema_version', '" + std::to_string(version) +
         "'), ('capture', '" + options.capture + "'), ('lanes', '64'), ('adopted', '" + (adopted ? "true" : "false") +
         "'),\n  ('system_identifier', (select system_identifier::text from pg_control_system()))\n" +
         "on conflict (name) do update set value = excluded.value where " + meta +
         ".name in ('schema_version', 'capture');\n";
}

// Connected to a server that we can work on, with the lock that makes two inits take turns.
Result<void> lock(db::PgConnection& connection) {
  if (connection.server_version() < kOldestServer) {
    return Failure{FailureKind::invalid, "PostgreSQL 13 or newer is needed; this server is " +
                                             std::to_string(connection.server_version() / 10000)};
  }
  auto standby = connection.run("select pg_is_in_recovery()");
  if (!standby) return standby.failure();
  if (standby->flag(0, 0)) {
    return Failure{FailureKind::refused, "the server is a standby and takes no writes: name the primary"};
  }
  auto locked = connection.run(kLock);
  if (!locked) return locked.failure();
  return {};
}

// Ours is what has the columns that the relay builds on.
Result<bool> is_foreign(db::PgConnection& connection, const PgNames& names) {
  auto rows = connection.query(
      "select count(*) from pg_attribute where attrelid = to_regclass($1) and not attisdropped"
      " and attname in ('id', 'xid', 'seq', 'lane', 'aggregatetype', 'aggregateid', 'not_before')",
      {names.outbox});
  if (!rows) return rows.failure();
  return rows->integer(0, 0) < 7;
}

Result<Installed> installed(db::PgConnection& connection, const PgNames& names) {
  auto tables =
      connection.query("select to_regclass($1) is not null, to_regclass($2) is not null", {names.outbox, names.meta});
  if (!tables) return tables.failure();
  Installed result;
  if (tables->flag(0, 1)) {
    auto rows = connection.run("select value from " + names.meta + " where name in ('schema_version', 'adopted')" +
                               " order by name desc");
    if (!rows) return rows.failure();
    if (rows->size() == 2) return Installed{static_cast<int>(rows->integer(0, 0)), rows->bytes(1, 0) == "true"};
  }
  if (tables->flag(0, 0)) {
    auto foreign = is_foreign(connection, names);
    if (!foreign) return foreign.failure();
    result.adopted = *foreign;
    result.version = *foreign ? 0 : 1;  // made by hand, from the file
  }
  return result;
}

Result<void> make_schema(db::PgConnection& connection, const PgNames& names) {
  if (names.schema.empty()) return {};
  auto rows = connection.query("select to_regnamespace($1) is null", {db::pg_identifier(names.schema)});
  if (!rows) return rows.failure();
  if (!rows->flag(0, 0)) return {};
  auto made = connection.run("create schema " + db::pg_identifier(names.schema));
  if (!made) return made.failure();
  return {};
}

}  // namespace

Result<std::string> postgres_schema_sql(const InitOptions& options) {
  auto migrations = postgres_migrations(options);
  if (!migrations) return migrations.failure();
  const auto names = pg_names(options.table);
  std::string sql = "begin;\n";
  if (!names.schema.empty()) sql += "create schema if not exists " + db::pg_identifier(names.schema) + ";\n";
  for (const auto& migration : *migrations) sql += "\n-- " + migration.name + "\n\n" + migration.up;
  return sql + "\n" + meta_sql(options, migrations->back().version, false) + "\ncommit;\n";
}

Result<InitReport> init_postgres(const std::string& url, const InitOptions& options) {
  auto migrations = postgres_migrations(options);
  if (!migrations) return migrations.failure();
  if (options.capture != "poll") {
    return Failure{FailureKind::invalid, "capture " + options.capture + " is not in this version; use poll"};
  }
  auto opened = db::PgConnection::open(url);
  if (!opened) return opened.failure();
  auto& connection = **opened;
  auto transaction = db::PgTransaction::begin(connection);
  if (!transaction) return transaction.failure();
  if (auto locked = lock(connection); !locked) return locked.failure();
  const auto names = pg_names(options.table);
  auto state = installed(connection, names);
  if (!state) return state.failure();

  if (auto made = make_schema(connection, names); !made) return made.failure();
  InitReport report{{}, std::max(state->version, migrations->back().version)};
  for (const auto& migration : *migrations) {
    if (migration.version <= state->version || (migration.makes_outbox && state->adopted)) continue;
    if (auto done = connection.run(migration.up); !done) return done.failure();
    report.applied.push_back(migration.name);
  }
  auto noted = connection.run(meta_sql(options, report.version, state->adopted));
  if (!noted) return noted.failure();
  if (auto done = transaction->commit(); !done) return done.failure();
  return report;
}

Result<InitReport> drop_postgres(const std::string& url, const InitOptions& options) {
  auto migrations = postgres_migrations(options);
  if (!migrations) return migrations.failure();
  auto opened = db::PgConnection::open(url);
  if (!opened) return opened.failure();
  auto& connection = **opened;
  auto transaction = db::PgTransaction::begin(connection);
  if (!transaction) return transaction.failure();
  if (auto locked = lock(connection); !locked) return locked.failure();
  auto state = installed(connection, pg_names(options.table));
  if (!state) return state.failure();

  InitReport report;
  std::reverse(migrations->begin(), migrations->end());
  for (const auto& migration : *migrations) {
    if (migration.version > state->version || (migration.makes_outbox && state->adopted)) continue;
    if (auto done = connection.run(migration.down); !done) return done.failure();
    report.applied.push_back(migration.name);
  }
  if (auto done = transaction->commit(); !done) return done.failure();
  return report;
}

}  // namespace outbox
