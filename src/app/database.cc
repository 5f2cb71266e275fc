#include "app/database.h"

#include <unistd.h>

#include <algorithm>

#include "db/postgres.h"
#include "source/poll/sqlite_source.h"
#include "source/poll/table_shape.h"
#include "store/postgres/leases.h"
#include "store/postgres/postgres_forwarding.h"
#include "store/postgres/postgres_operator.h"
#include "store/postgres/postgres_store.h"
#include "store/postgres/readiness.h"
#include "store/postgres/schema.h"
#include "store/sqlite/leases.h"
#include "store/sqlite/schema.h"
#include "store/sqlite/sqlite_forwarding.h"
#include "store/sqlite/sqlite_operator.h"
#include "store/sqlite/sqlite_store.h"

namespace outbox::app {

using config::DatabaseKind;

namespace {

bool gets_copies_only(const config::Settings& settings, const config::SinkSettings& sink) {
  return settings.forward && settings.forward->sink == sink.name &&
         std::none_of(settings.routes.begin(), settings.routes.end(),
                      [&](const config::RouteSettings& route) { return route.sink == sink.name; });
}

}  // namespace

// `shape` is what was found on PostgreSQL; on SQLite only its mapping counts.
struct Database::Parts {
  DatabaseKind kind;
  std::string url;
  TableShape shape;
};

Result<Database> Database::inspect(const config::Settings& settings) {
  const auto kind = config::database_kind(settings.database);
  if (!kind) return kind.failure();
  Parts parts{*kind, settings.database, {}};
  if (*kind == DatabaseKind::postgresql) {
    auto shape = inspect_postgres_table(settings.database, settings.outbox);
    if (!shape) return shape.failure();
    parts.shape = *std::move(shape);
  } else {
    parts.shape.table = settings.outbox;
    parts.shape.positions = true;
  }
  Database database(std::make_shared<const Parts>(std::move(parts)));
  database.positions_ = database.parts_->shape.positions && database.parts_->shape.table.sent == SentMode::keep;
  database.notes_ = database.parts_->shape.notes;
  return database;
}

std::vector<Feed> Database::feeds(const config::Settings& settings) const {
  std::vector<Feed> feeds;
  if (!positions_) feeds.push_back({"*", {}, false, true, {}});
  for (const config::SinkSettings& sink : settings.sinks) {
    if (gets_copies_only(settings, sink)) continue;
    if (positions_) {
      feeds.push_back({sink.name, {sink.name}, true, sink.from_beginning});
    } else {
      feeds.front().sinks.push_back(sink.name);
    }
  }
  return feeds;
}

std::string Database::address() const {
  if (parts_->kind == DatabaseKind::postgresql) return db::pg_address(parts_->url);
  return config::sqlite_file(parts_->url);
}

Result<bool> Database::check_tables() const {
  if (parts_->kind == DatabaseKind::postgresql) {
    if (auto usable = check_postgres_tables(parts_->url, parts_->shape.table); !usable) return usable.failure();
    return true;
  }
  if (::access(sqlite_state_file(config::sqlite_file(parts_->url)).c_str(), F_OK) != 0) return false;
  if (auto status = make_store()->status({}); !status) return status.failure();
  return true;
}

Result<std::vector<MissingGrant>> Database::missing_grants(bool deletes) const {
  if (parts_->kind != DatabaseKind::postgresql) return std::vector<MissingGrant>{};
  return missing_postgres_grants(parts_->url, parts_->shape.table, deletes);
}

std::unique_ptr<Store> Database::make_store() const {
  if (parts_->kind == DatabaseKind::postgresql) return make_postgres_store(parts_->url, parts_->shape.table);
  return make_sqlite_store(parts_->url, parts_->shape.table);
}

std::unique_ptr<Leases> Database::make_leases() const {
  if (parts_->kind == DatabaseKind::postgresql) return make_postgres_leases(parts_->url, parts_->shape.table);
  return make_sqlite_leases(config::sqlite_file(parts_->url));
}

bool Database::divisible() const { return positions_ && parts_->kind == DatabaseKind::postgresql; }

Database::FeedAccess Database::make_feed_access(const Lanes& lanes) const {
  if (parts_->kind == DatabaseKind::postgresql) {
    return {make_postgres_source(parts_->url, parts_->shape, lanes), make_store()};
  }
  const auto last_read = std::make_shared<db::LastRead>();
  return {make_sqlite_source(parts_->url, parts_->shape.table, last_read),
          make_sqlite_store(parts_->url, parts_->shape.table, last_read)};
}

std::unique_ptr<OperatorStore> Database::make_operator() const {
  if (parts_->kind == DatabaseKind::postgresql) return make_postgres_operator(parts_->url, parts_->shape.table);
  return make_sqlite_operator(parts_->url, parts_->shape.table);
}

std::unique_ptr<ForwardingStore> Database::make_forwarding() const {
  if (parts_->kind == DatabaseKind::postgresql) return make_postgres_forwarding(parts_->url, parts_->shape.table);
  return make_sqlite_forwarding(parts_->url, parts_->shape.table);
}

Result<OpenOutbox> open_outbox(const config::Settings& settings) {
  const auto database = Database::inspect(settings);
  if (!database) return database.failure();
  return OpenOutbox{database->make_store(), database->feeds(settings)};
}

Result<InitReport> init_tables(const std::string& url, const InitOptions& options) {
  const auto kind = config::database_kind(url);
  if (!kind) return kind.failure();
  if (*kind == DatabaseKind::postgresql) return init_postgres(url, options);
  return init_sqlite(config::sqlite_file(url), options);
}

Result<std::string> schema_sql(const std::string& url, const InitOptions& options) {
  const auto kind = config::database_kind(url);
  if (!kind) return kind.failure();
  if (*kind == DatabaseKind::postgresql) return postgres_schema_sql(options);
  return sqlite_schema_sql(options);
}

}  // namespace outbox::app
