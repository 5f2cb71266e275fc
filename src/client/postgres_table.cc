#include "client/postgres_table.h"

#include <cstddef>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "client/checked_message.h"
#include "outbox/error.h"

namespace outbox::client {
namespace {

constexpr std::size_t kMaxRemembered = 4096;

// What connections have found. A wrong entry costs a failed statement, never a wrong row: the insert casts the payload
// to the type that is remembered, and PostgreSQL refuses another.
class Memory {
 public:
  std::optional<PostgresTable> find(const std::string& key) {
    const std::lock_guard lock(mutex_);
    const auto found = tables_.find(key);
    return found == tables_.end() ? std::nullopt : std::optional(found->second);
  }
  void store(const std::string& key, const PostgresTable& table) {
    const std::lock_guard lock(mutex_);
    if (tables_.size() >= kMaxRemembered) tables_.clear();
    tables_.insert_or_assign(key, table);
  }
  void erase(const std::string& key) {
    const std::lock_guard lock(mutex_);
    tables_.erase(key);
  }

 private:
  std::mutex mutex_;
  std::unordered_map<std::string, PostgresTable> tables_;
};

Memory& memory() {
  static Memory memory;
  return memory;
}

std::string memory_key(const detail::PostgresSession& session, const TableName& name) {
  const std::string connection = session.identity();
  return connection.empty() ? connection : connection + "/" + quoted(name);
}

// Both parts are plain identifiers. A qualified name is not given to to_regclass, which raises an error where the
// schema may not be used.
std::string catalog_query(const TableName& name) {
  const std::string which = name.schema.empty() ? "c.oid = to_regclass('" + quoted(name) + "')"
                                                : "n.nspname = '" + name.schema + "' and c.relname = '" + name.table +
                                                      "' and has_schema_privilege(n.oid, 'USAGE')";
  return "select p.atttypid::regtype::text,"
         " has_any_column_privilege(c.oid, 'INSERT') and has_column_privilege(c.oid, i.attnum, 'SELECT'),"
         " current_setting('server_encoding') in ('UTF8', 'SQL_ASCII')"
         " from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace"
         " left join pg_catalog.pg_attribute p on p.attrelid = c.oid and p.attname = 'payload' and not p.attisdropped"
         " left join pg_catalog.pg_attribute i on i.attrelid = c.oid and i.attname = 'id' and not i.attisdropped"
         " where " +
         which;
}

PayloadColumn payload_column(const std::optional<std::string>& type, const std::string& table) {
  if (type == "json") return PayloadColumn::json;
  if (type == "jsonb") return PayloadColumn::jsonb;
  if (type == "bytea") return PayloadColumn::bytea;
  if (type == "text") return PayloadColumn::text;
  refuse("the payload column of " + table + " is " + (type ? "of type " + *type : "missing") +
         ": enqueue writes to the table that `outboxd init` makes (json, jsonb, bytea or text)");
}

}  // namespace

PostgresTable find_postgres_table(detail::PostgresSession& session, const TableName& name) {
  std::string key = memory_key(session, name);
  if (!key.empty()) {
    if (const auto known = memory().find(key)) return *known;
  }
  const auto rows = session.run(catalog_query(name), {});
  const std::string table = quoted(name);
  if (rows.empty()) {
    refuse("there is no table " + table +
           " for this user and search path: create it with `outboxd init`, grant it, or "
           "set EnqueueOptions::table");
  }
  const auto& row = rows.front();
  PostgresTable found;
  found.payload = payload_column(row.at(0), table);
  found.any_character = row.at(2) == "t";
  if (row.at(1) != "t") refuse("no privilege to enqueue: `grant insert, select on " + table + "` to this user");
  key = memory_key(session, name);  // a driver that connects late is known only now
  if (!key.empty()) memory().store(key, found);
  return found;
}

void forget_postgres_table(const detail::PostgresSession& session, const TableName& name) {
  memory().erase(memory_key(session, name));
}

}  // namespace outbox::client
