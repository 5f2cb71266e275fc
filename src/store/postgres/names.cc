#include "store/postgres/names.h"

#include "db/postgres.h"

namespace outbox {

namespace {

constexpr std::string_view kBase = "outbox";

// Cuts "schema." off the front of `name`.
std::string_view take_schema(std::string_view& name) {
  const auto dot = name.find('.');
  if (dot == std::string_view::npos) return {};
  const auto schema = name.substr(0, dot);
  name.remove_prefix(dot + 1);
  return schema;
}

}  // namespace

PgNames pg_names(std::string_view table, std::string_view prefix) {
  PgNames names;
  names.outbox = db::pg_qualified(table);
  std::string_view name = table;
  names.schema = take_schema(name);
  if (!prefix.empty()) {
    if (const auto schema = take_schema(prefix); !schema.empty()) names.schema = schema;
    names.prefix = prefix;
  } else if (name.size() >= kBase.size() && name.substr(name.size() - kBase.size()) == kBase) {
    names.prefix = name.substr(0, name.size() - kBase.size());
  }
  const auto side = [&](std::string_view suffix) {
    const auto quoted = db::pg_identifier(names.prefix + std::string(kBase) + std::string(suffix));
    return names.schema.empty() ? quoted : db::pg_identifier(names.schema) + "." + quoted;
  };
  names.delivery = side("_delivery");
  names.position = side("_position");
  names.relay = side("_relay");
  names.lease = side("_lease");
  names.meta = side("_meta");
  names.clock = side("_clock");
  names.audit = side("_audit");
  names.pause = side("_pause");
  return names;
}

}  // namespace outbox
