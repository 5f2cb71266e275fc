#include "client/header_text.h"

#include <cstddef>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace outbox::client {
namespace {

void append_string(std::string& json, std::string_view text) {
  static constexpr char kDigits[] = "0123456789abcdef";
  json += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      json += '\\';
      json += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      json += "\\u00";
      json += kDigits[c >> 4];
      json += kDigits[c & 15];
    } else {
      json += c;
    }
  }
  json += '"';
}

void append_values(std::string& json, const std::vector<std::string_view>& values) {
  if (values.size() == 1) return append_string(json, values.front());
  json += '[';
  for (const std::string_view value : values) {
    if (json.back() != '[') json += ',';
    append_string(json, value);
  }
  json += ']';
}

}  // namespace

std::string header_text(const Headers& headers) {
  if (headers.empty()) return "{}";
  std::vector<std::string_view> names;
  std::unordered_map<std::string_view, std::vector<std::string_view>> values;
  for (const auto& [name, value] : headers) {
    auto& of_name = values[name];
    if (of_name.empty()) names.push_back(name);
    of_name.push_back(value);
  }
  std::string json = "{";
  for (const std::string_view name : names) {
    if (json.back() != '{') json += ',';
    append_string(json, name);
    json += ':';
    append_values(json, values[name]);
  }
  json += '}';
  return json;
}

}  // namespace outbox::client
