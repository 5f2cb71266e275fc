#include "sink/nats/subject.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

namespace outbox::nats {
namespace {

bool breaks_the_line(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte <= 0x20 || byte == 0x7f;
}

}  // namespace

std::optional<std::string> subject_problem(std::string_view subject) {
  if (subject.empty()) return "the subject is empty";
  if (subject.size() > kSubjectMax) {
    return fmt::format("the subject has {} bytes; {} are allowed", subject.size(), kSubjectMax);
  }
  const auto bad = std::ranges::find_if(subject, breaks_the_line);
  if (bad != subject.end()) {
    return fmt::format("the subject holds byte 0x{:02x} at {}: blanks and control characters are not allowed",
                       static_cast<unsigned char>(*bad), bad - subject.begin());
  }
  if (subject.starts_with('.') || subject.ends_with('.') || subject.find("..") != std::string_view::npos) {
    return fmt::format("the subject {} has an empty token; a field in it is empty, or begins or ends with a dot",
                       subject);
  }
  if (subject.find_first_of("*>") != std::string_view::npos) {
    return fmt::format("the subject {} holds a wildcard, * or >", subject);
  }
  if (subject.starts_with('$') || subject == "_INBOX" || subject.starts_with("_INBOX.")) {
    return fmt::format("the subject {} belongs to the server; it cannot be published to", subject);
  }
  return std::nullopt;
}

Result<void> check_subject_template(std::string_view address) {
  std::string example;  // each {field} as one letter
  for (std::size_t at = 0; at < address.size();) {
    const auto close = address[at] == '{' ? address.find('}', at) : std::string_view::npos;
    example.push_back(close == std::string_view::npos ? address[at] : 'x');
    at = close == std::string_view::npos ? at + 1 : close + 1;
  }
  if (auto problem = subject_problem(example)) return Failure{FailureKind::invalid, std::move(*problem)};
  return {};
}

}  // namespace outbox::nats
