#include "client/table_name.h"

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "client/checked_message.h"

namespace outbox::client {
namespace {

constexpr std::size_t kMaxIdentifier = 63;  // PostgreSQL cuts off what is longer

bool is_identifier(std::string_view text) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  const auto fits = [&](char c) { return is_letter(c) || (c >= '0' && c <= '9') || c == '$'; };
  return !text.empty() && text.size() <= kMaxIdentifier && is_letter(text[0]) &&
         std::all_of(text.begin(), text.end(), fits);
}

}  // namespace

TableName parse_table_name(const std::string& text) {
  TableName name;
  const std::size_t dot = text.find('.');
  if (dot != std::string::npos) name.schema = text.substr(0, dot);
  name.table = dot == std::string::npos ? text : text.substr(dot + 1);
  if ((dot != std::string::npos && !is_identifier(name.schema)) || !is_identifier(name.table)) {
    refuse("EnqueueOptions::table is not a table's name: use \"outbox\" or \"schema.outbox\"");
  }
  return name;
}

std::string quoted(const TableName& name) {
  const std::string table = '"' + name.table + '"';
  return name.schema.empty() ? table : '"' + name.schema + "\"." + table;
}

}  // namespace outbox::client
