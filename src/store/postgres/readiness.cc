#include "store/postgres/readiness.h"

#include "base/text.h"

namespace outbox {

namespace {

struct Grant {
  std::string table;  // quoted, like all names here
  std::vector<std::string> privileges;
  std::string column = {};  // unquoted; empty: on the whole table
  bool needed = true;
};

std::vector<Grant> grants_for(const PgSession& session, bool deletes) {
  const PgNames& names = session.names();
  const TableMapping& table = session.table();
  std::vector<Grant> grants{{names.outbox, {"select"}}, {names.audit, {"select", "insert"}}};
  for (const auto& ours :
       {names.meta, names.position, names.delivery, names.relay, names.lease, names.clock, names.pause}) {
    grants.push_back({ours, {"select", "insert", "update", "delete"}});
  }
  if (table.sent == SentMode::mark) grants.push_back({names.outbox, {"update"}, table.columns.at("published_at")});
  if (table.sent == SentMode::remove || deletes) grants.push_back({names.outbox, {"delete"}});
  if (table.sent == SentMode::keep) grants.push_back({names.outbox, {"update"}, table.columns.at("xid"), false});
  return grants;
}

std::string holds(const Grant& grant, const std::string& privilege) {
  const std::string table = db::pg_literal(grant.table);
  if (grant.column.empty()) return "has_table_privilege(" + table + ", '" + privilege + "')";
  return "has_column_privilege(" + table + ", " + db::pg_literal(grant.column) + ", '" + privilege + "')";
}

MissingGrant missing(const Grant& grant, const std::string& privileges, const std::string& role) {
  const std::string column = grant.column.empty() ? "" : " (" + db::pg_identifier(grant.column) + ")";
  return {"the role " + role + " may not " + privileges + column + " on " + grant.table +
              (grant.needed ? "" : ", which is needed once: after a restore into another cluster"),
          "grant " + privileges + column + " on " + grant.table + " to " + db::pg_identifier(role), grant.needed};
}

}  // namespace

Result<void> check_made(db::PgConnection& connection, const PgSession& session) {
  const PgNames& names = session.names();
  auto rows = connection.query(
      "select to_regclass($1) is null, not exists (select from pg_attribute where attrelid = to_regclass($2) and"
      " attname = 'long_id')",
      {names.meta, names.delivery});
  if (!rows) return rows.failure();
  if (rows->flag(0, 0)) {
    return Failure{FailureKind::invalid, "there is no table " + names.meta + ": run `outboxd init` for this database"};
  }
  if (rows->flag(0, 1)) {
    return Failure{FailureKind::invalid, "the relay's tables are those of an older version (" + names.delivery +
                                             " has no column long_id): run `outboxd init` for this database"};
  }
  return {};
}

Result<void> check_usable(db::PgConnection& connection, const PgSession& session) {
  auto rows = connection.run("select pg_is_in_recovery()");
  if (!rows) return rows.failure();
  if (rows->flag(0, 0)) {
    return Failure{FailureKind::refused,
                   "the database server is a standby: it shows the past and takes no writes; name the primary"};
  }
  return check_made(connection, session);
}

Result<void> check_postgres_tables(const std::string& url, const TableMapping& table) {
  PgSession session(url, table);
  auto opened = session.connection();
  if (!opened) return opened.failure();
  return check_usable(**opened, session);
}

Result<std::vector<MissingGrant>> missing_postgres_grants(const std::string& url, const TableMapping& table,
                                                          bool deletes) {
  PgSession session(url, table);
  auto opened = session.connection();
  if (!opened) return opened.failure();
  const auto grants = grants_for(session, deletes);
  std::string sql = "select current_user";
  for (const Grant& grant : grants) {
    for (const auto& privilege : grant.privileges) sql += ", " + holds(grant, privilege);
  }
  auto rows = (*opened)->run(sql);
  if (!rows) return rows.failure();
  std::vector<MissingGrant> lacks;
  int at = 0;
  for (const Grant& grant : grants) {
    std::vector<std::string> lacking;
    for (const auto& privilege : grant.privileges) {
      if (!rows->flag(0, ++at)) lacking.push_back(privilege);
    }
    if (!lacking.empty()) lacks.push_back(missing(grant, join(lacking, ", "), rows->text(0, 0)));
  }
  return lacks;
}

}  // namespace outbox
