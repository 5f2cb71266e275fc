// What the operator's questions share: conditions made of a filter, and deliveries read from rows.
#pragma once

#include <string>
#include <vector>

#include "store/operator_store.h"
#include "store/postgres/session.h"

namespace outbox {

// The WHERE clause of a statement, and its parameters.
class PgConditions {
 public:
  // Takes the value as a parameter; returns how the statement names it: $1, $2, …
  std::string parameter(db::PgValue value);
  void add(const std::string& condition);
  // " where …", or nothing.
  std::string where() const { return sql_.empty() ? "" : " where " + sql_; }
  const db::PgValues& values() const { return values_; }

 private:
  std::string sql_;
  db::PgValues values_;
};

// Of a row `d` of outbox_delivery.
void add_filter(PgConditions& conditions, const DeliveryFilter& filter);

// The columns that delivery_from() reads, of a row `d` of outbox_delivery.
std::string delivery_columns();
DeliveryInfo delivery_from(const db::PgRows& rows, int row);

// Connected, to tables that have what an operator needs; else `invalid`, naming init.
Result<db::PgConnection*> operator_connection(PgSession& session);

}  // namespace outbox
