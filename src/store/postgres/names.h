// What our tables are called beside a given outbox table, quoted for SQL.
#pragma once

#include <string>
#include <string_view>

namespace outbox {

struct PgNames {
  std::string schema;  // unquoted; empty: by search_path
  std::string prefix;  // "billing_"

  std::string outbox;  // the table itself
  std::string delivery;
  std::string position;
  std::string relay;
  std::string lease;
  std::string meta;
  std::string clock;
  std::string audit;
  std::string pause;
};

// `table` may be schema-qualified. "shop.outbox": side tables in schema shop; "billing_outbox": side tables
// "billing_outbox_…"; any other name ("outbox_events"): "outbox_…". A `prefix` that is not empty ("shop.billing_")
// counts instead.
PgNames pg_names(std::string_view table, std::string_view prefix = {});

}  // namespace outbox
