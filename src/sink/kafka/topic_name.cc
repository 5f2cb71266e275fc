#include "sink/kafka/topic_name.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

namespace outbox::kafka {
namespace {

bool legal(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
}

}  // namespace

std::optional<std::string> topic_name_problem(std::string_view name) {
  if (name.empty()) return "the topic name is empty";
  if (name == "." || name == "..") return fmt::format("\"{}\" is no topic name", name);
  if (name.size() > kTopicNameMax) {
    return fmt::format("the topic name has {} characters, Kafka allows {}", name.size(), kTopicNameMax);
  }
  const auto bad = std::ranges::find_if_not(name, legal);
  if (bad == name.end()) return std::nullopt;
  return fmt::format("the topic name holds byte 0x{:02x} at {}; legal are letters, digits, '.', '_' and '-'",
                     static_cast<unsigned char>(*bad), bad - name.begin());
}

Result<void> check_topic_template(std::string_view address) {
  std::string example;  // each {field} as one letter
  for (std::size_t at = 0; at < address.size();) {
    const auto close = address[at] == '{' ? address.find('}', at) : std::string_view::npos;
    example.push_back(close == std::string_view::npos ? address[at] : 'x');
    at = close == std::string_view::npos ? at + 1 : close + 1;
  }
  if (auto problem = topic_name_problem(example)) return Failure{FailureKind::invalid, std::move(*problem)};
  return {};
}

}  // namespace outbox::kafka
