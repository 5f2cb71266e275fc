#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "client/checked_message.h"
#include "client/postgres_array.h"
#include "client/postgres_table.h"
#include "client/utf8.h"
#include "client/uuid.h"
#include "outbox/detail/postgres_session.h"
#include "outbox/error.h"

namespace outbox::client {
namespace {

constexpr std::size_t kMaxJsonb = 30'000'000;  // jsonb's binary form may be eight times its text, and has a limit

bool is_ascii(std::string_view text) {
  for (const char c : text) {
    if (static_cast<unsigned char>(c) >= 0x80) return false;
  }
  return true;
}

bool is_ascii(const CheckedMessage& checked, PayloadColumn payload) {
  const Message& message = *checked.message;
  return is_ascii(message.aggregate_type) && is_ascii(message.aggregate_id) && is_ascii(message.type) &&
         is_ascii(checked.headers) && (payload == PayloadColumn::bytea || is_ascii(message.payload));
}

// What depends on the table, and would otherwise be the database's refusal.
void check_against(const PostgresTable& table, const std::vector<CheckedMessage>& messages) {
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const CheckedMessage& checked = messages[i];
    const auto fail = [&](const std::string& what) { refuse(message_label(i, messages.size()) + ": " + what); };
    if (checked.message->payload_is_bytes && table.payload != PayloadColumn::bytea) {
      fail(
          "the payload is bytes, but the payload column holds JSON: make the table with `outboxd init --payload "
          "bytea`");
    }
    if (table.payload == PayloadColumn::jsonb) {
      if (!checked.jsonb_defect.empty()) fail("jsonb does not take this payload: " + checked.jsonb_defect);
      if (checked.message->payload.size() > kMaxJsonb) {
        fail("the payload has " + std::to_string(checked.message->payload.size()) + " bytes, the limit for jsonb is " +
             std::to_string(kMaxJsonb));
      }
    }
    if (!table.any_character && !is_ascii(checked, table.payload)) {
      fail("the database's encoding is not UTF8: only ASCII can be enqueued as text");
    }
  }
}

std::string payload_expression(PayloadColumn payload) {
  std::string text = "convert_from(m.payload, 'UTF8')";
  switch (payload) {
    case PayloadColumn::json: return text + "::json";
    case PayloadColumn::jsonb: return text + "::jsonb";
    case PayloadColumn::text: return text;
    case PayloadColumn::bytea: return "m.payload";
  }
  return {};
}

struct Statement {
  std::string sql;
  std::vector<std::string> parameters;
};

// The columns of all messages, in the order of the statement's list.
std::vector<std::string> columns(const std::vector<CheckedMessage>& messages, detail::PostgresSession::Values values) {
  using Element = PostgresArray::Element;
  PostgresArray ids(Element::uuid, values), aggregate_types(Element::bytea, values),
      aggregate_ids(Element::bytea, values), types(Element::bytea, values), payloads(Element::bytea, values),
      headers(Element::bytea, values), aggregate_versions(Element::int8, values),
      schema_versions(Element::int4, values), traceparents(Element::bytea, values),
      not_befores(Element::timestamptz, values);
  for (const CheckedMessage& checked : messages) {
    const Message& message = *checked.message;
    ids.add_uuid(checked.id);
    aggregate_types.add_bytes(message.aggregate_type);
    aggregate_ids.add_bytes(message.aggregate_id);
    types.add_bytes(message.type);
    payloads.add_bytes(message.payload);
    headers.add_bytes(checked.headers);
    aggregate_versions.add_optional(message.aggregate_version, &PostgresArray::add_int8);
    schema_versions.add_optional(message.schema_version, &PostgresArray::add_int4);
    const std::string_view traceparent = message.traceparent;
    traceparents.add_optional(traceparent.empty() ? std::nullopt : std::optional(traceparent),
                              &PostgresArray::add_bytes);
    not_befores.add_optional(message.not_before, &PostgresArray::add_time);
  }
  std::vector<std::string> arrays;
  for (PostgresArray* column : {&ids, &aggregate_types, &aggregate_ids, &types, &payloads, &headers,
                                &aggregate_versions, &schema_versions, &traceparents, &not_befores}) {
    arrays.push_back(std::move(*column).finish());
  }
  return arrays;
}

// Text travels as bytea, so that it is UTF-8 whatever the session's client encoding is. unnest keeps the order, so seq
// ascends in the order given.
std::string insert_sql(const TableName& name, PayloadColumn payload, const std::string& arrays) {
  const auto text = [](const std::string& column) { return "convert_from(m." + column + ", 'UTF8')"; };
  return "insert into " + quoted(name) +
         " (id, aggregatetype, aggregateid, type, payload, headers, aggregate_version, schema_version, traceparent,"
         " not_before) select m.id, " +
         text("aggregatetype") + ", " + text("aggregateid") + ", " + text("type") + ", " + payload_expression(payload) +
         ", " + text("headers") + "::jsonb, m.aggregate_version, m.schema_version, " + text("traceparent") +
         ", m.not_before from unnest(" + arrays +
         ") as m(id, aggregatetype, aggregateid, type, payload, headers, aggregate_version, schema_version,"
         " traceparent, not_before) on conflict (id) do nothing returning id";
}

Statement insert_statement(const TableName& name, PayloadColumn payload, const std::vector<CheckedMessage>& messages,
                           detail::PostgresSession::Values values) {
  std::vector<std::string> arrays = columns(messages, values);
  if (values == detail::PostgresSession::Values::parameters) {
    return {insert_sql(name, payload,
                       "$1::uuid[], $2::bytea[], $3::bytea[], $4::bytea[], $5::bytea[], $6::bytea[], $7::int8[],"
                       " $8::int4[], $9::bytea[], $10::timestamptz[]"),
            std::move(arrays)};
  }
  std::string list;
  for (const std::string& array : arrays) list += (list.empty() ? "" : ", ") + array;
  return {insert_sql(name, payload, list), {}};
}

// Datatype mismatch, undefined table, undefined column: not the table that was looked at.
bool table_has_changed(const std::string& sql_state) {
  return sql_state == "42804" || sql_state == "42P01" || sql_state == "42703";
}

std::vector<detail::PostgresSession::Row> insert(detail::PostgresSession& session, const TableName& name,
                                                 PayloadColumn payload, const std::vector<CheckedMessage>& messages) {
  try {
    const Statement statement = insert_statement(name, payload, messages, session.values());
    return session.run(statement.sql, statement.parameters);
  } catch (const Error& error) {
    if (!table_has_changed(error.sql_state())) throw;
    forget_postgres_table(session, name);
    throw Error(std::string(error.what()) + "; if the table was just changed, retry the transaction", error.sql_state(),
                true, true);
  }
}

}  // namespace
}  // namespace outbox::client

namespace outbox::detail {

std::vector<Enqueued> enqueue(PostgresSession& session, std::span<const Message> messages,
                              const EnqueueOptions& options) {
  const client::TableName name = client::parse_table_name(options.table);
  const std::vector<client::CheckedMessage> checked = client::check_messages(messages, options);
  if (checked.empty()) return {};
  const client::PostgresTable table = client::find_postgres_table(session, name);
  client::check_against(table, checked);

  std::unordered_set<std::string> inserted;
  for (auto& row : client::insert(session, name, table.payload, checked)) inserted.insert(row.at(0).value());
  std::vector<Enqueued> results;
  results.reserve(checked.size());
  for (const client::CheckedMessage& message : checked) {
    std::string id = client::uuid_text(message.id);
    const bool duplicate = inserted.erase(id) == 0;  // the first of the same id was stored, if any was
    results.push_back({std::move(id), duplicate});
  }
  return results;
}

}  // namespace outbox::detail
