// Reading back what the file and stdout sinks wrote.
#pragma once

#include <string>
#include <vector>

namespace outbox::test {

struct JsonLine {
  std::string raw;
  std::string id;
  std::string aggregate_type;
  std::string aggregate_id;
  std::string type;
  std::string created_at;
  std::string headers;         // compact JSON
  std::string payload;         // compact JSON; empty if there is none
  std::string payload_base64;  // empty if there is none
};

// Throws std::runtime_error if a line is not a JSON object of this kind, or the last one has no line feed.
std::vector<JsonLine> parse_json_lines(const std::string& text);

}  // namespace outbox::test
