#include "support/json_lines.h"

#include <nlohmann/json.hpp>
#include <stdexcept>

namespace outbox::test {
namespace {

JsonLine parse(const std::string& raw) {
  try {
    const auto json = nlohmann::json::parse(raw);
    JsonLine line{raw,
                  json.at("id"),
                  json.at("aggregate_type"),
                  json.at("aggregate_id"),
                  json.at("type"),
                  json.at("created_at"),
                  json.at("headers").dump(),
                  {},
                  json.value("payload_base64", "")};
    if (json.contains("payload")) line.payload = json.at("payload").dump();
    return line;
  } catch (const nlohmann::json::exception& error) {
    throw std::runtime_error(std::string(error.what()) + " in: " + raw);
  }
}

}  // namespace

std::vector<JsonLine> parse_json_lines(const std::string& text) {
  std::vector<JsonLine> lines;
  std::size_t at = 0;
  while (at < text.size()) {
    const auto end = text.find('\n', at);
    if (end == std::string::npos) throw std::runtime_error("half a line: " + text.substr(at));
    lines.push_back(parse(text.substr(at, end - at)));
    at = end + 1;
  }
  return lines;
}

}  // namespace outbox::test
