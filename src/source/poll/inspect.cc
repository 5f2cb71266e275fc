#include "db/postgres.h"
#include "source/poll/table_columns.h"

namespace outbox {

namespace {

constexpr const char* kColumnsSql =
    "select a.attname, format_type(a.atttypid, null), not a.attnotnull, exists (select from pg_index i where"
    " i.indrelid = a.attrelid and i.indkey[0] = a.attnum), case when a.attgenerated = 's' then (select"
    " pg_get_expr(d.adbin, d.adrelid) from pg_attrdef d where d.adrelid = a.attrelid and d.adnum = a.attnum) end,"
    " a.attidentity <> '' or exists (select from pg_attrdef d where d.adrelid = a.attrelid and d.adnum = a.attnum and"
    " pg_get_expr(d.adbin, d.adrelid) like 'nextval(%') or exists (select from pg_index i where i.indrelid = a.attrelid"
    " and i.indisunique and i.indisvalid and i.indpred is null and i.indnkeyatts = 1 and i.indkey[0] = a.attnum)"
    " from pg_attribute a where a.attrelid = to_regclass($1) and a.attnum > 0 and not a.attisdropped order by a.attnum";

// A view has no system columns, a foreign table no true ones.
Result<bool> has_versions(db::PgConnection& connection, const TableMapping& mapping) {
  auto rows = connection.query("select relkind in ('r', 'p') from pg_class where oid = to_regclass($1)",
                               {db::pg_qualified(mapping.table)});
  if (!rows) return rows.failure();
  return !rows->empty() && rows->flag(0, 0);
}

// A policy that shows this role all rows today is another one tomorrow, and a row that was hidden when its turn came is
// never sent.
Result<void> refuse_hidden_rows(db::PgConnection& connection, const TableMapping& mapping) {
  const auto table = db::pg_qualified(mapping.table);
  auto rows = connection.query("select row_security_active($1), current_user", {table});
  if (!rows) return rows.failure();
  if (!rows->flag(0, 0)) return {};
  const auto role = rows->text(0, 1);
  return Failure{FailureKind::invalid, "table " + mapping.table + ": row-level security can hide rows from the role " +
                                           role + ", which would pass them as if they had been sent: alter role " +
                                           db::pg_identifier(role) + " bypassrls; or alter table " + table +
                                           " disable row level security"};
}

}  // namespace

Result<TableShape> inspect_postgres_table(const std::string& url, const TableMapping& mapping) {
  db::PgConnectOptions options;
  options.application_name = "outboxd check";
  auto connection = db::PgConnection::open(url, options);
  if (!connection) return connection.failure();
  auto rows = (*connection)->query(kColumnsSql, {db::pg_qualified(mapping.table)});
  if (!rows) return rows.failure();
  if (rows->empty()) {
    return Failure{FailureKind::invalid, "there is no table " + mapping.table + " at " + db::pg_address(url) +
                                             ", or this user may not use its schema: run `outboxd init`, name the "
                                             "table in outbox.table, or grant usage on the schema"};
  }
  if (auto all = refuse_hidden_rows(**connection, mapping); !all) return all.failure();
  std::vector<TableColumn> columns;
  columns.reserve(static_cast<std::size_t>(rows->size()));
  for (int i = 0; i < rows->size(); ++i) {
    columns.push_back(
        {rows->text(i, 0), rows->text(i, 1), rows->flag(i, 2), rows->flag(i, 3), rows->text(i, 4), rows->flag(i, 5)});
  }
  auto versions = has_versions(**connection, mapping);
  if (!versions) return versions.failure();
  auto shape = resolve_shape(mapping, columns);
  if (shape) shape->has_versions = *versions;
  return shape;
}

}  // namespace outbox
