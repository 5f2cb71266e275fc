#include "store/postgres/migrations.h"

#include <algorithm>
#include <array>
#include <span>

#include "db/postgres.h"
#include "db/sql_file.h"
#include "store/postgres/names.h"

namespace outbox {

std::span<const SqlFile> postgres_sql_files();

namespace {

// What lives in a schema of its own right. Everything else called outbox_… (indexes, constraints) follows its table.
constexpr std::array<std::string_view, 10> kQualified{
    "outbox",       "outbox_send",  "outbox_meta",  "outbox_position", "outbox_delivery",
    "outbox_relay", "outbox_clock", "outbox_lease", "outbox_audit",    "outbox_pause"};

bool in_word(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; }

std::string readable_identifier(const std::string& name) {
  const bool plain = std::all_of(name.begin(), name.end(), in_word) && (name.front() < '0' || name.front() > '9');
  return plain ? name : db::pg_identifier(name);
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (auto at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

}  // namespace

std::string with_names(std::string_view sql, const std::string& table) {
  const auto names = pg_names(table);
  std::string result;
  for (std::size_t at = 0; at < sql.size();) {
    std::size_t end = at;
    while (end < sql.size() && in_word(sql[end])) ++end;
    if (end == at) {
      result += sql[at++];
      continue;
    }
    const auto word = sql.substr(at, end - at);
    at = end;
    if (word != "outbox" && word.substr(0, 7) != "outbox_") {
      result += word;
      continue;
    }
    const bool qualified = std::find(kQualified.begin(), kQualified.end(), word) != kQualified.end();
    if (qualified && !names.schema.empty()) result += readable_identifier(names.schema) + ".";
    result += readable_identifier(names.prefix + std::string(word));
  }
  return result;
}

Result<std::vector<Migration>> postgres_migrations(const InitOptions& options) {
  std::string value = "payload::" + options.payload;
  if (options.payload == "bytea") {
    value = "convert_to(payload, 'UTF8')";
  } else if (options.payload != "json" && options.payload != "jsonb") {
    return Failure{FailureKind::invalid, "payload type " + options.payload + ": it is json, jsonb or bytea"};
  }
  std::vector<Migration> migrations;
  for (const auto& file : postgres_sql_files()) {
    std::string text(file.text);
    replace_all(text, "{payload_type}", options.payload);
    replace_all(text, "{payload_value}", value);
    text = with_names(text, options.table);
    const std::string name(file.name.substr(0, file.name.find('.')));
    if (migrations.empty() || migrations.back().name != name) {
      const int version = std::stoi(name.substr(0, 4));
      migrations.push_back({version, name, {}, {}, version == 1});
    }
    (file.name.find(".up.") != std::string_view::npos ? migrations.back().up : migrations.back().down) = text;
  }
  return migrations;
}

}  // namespace outbox
