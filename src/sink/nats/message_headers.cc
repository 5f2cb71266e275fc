#include "sink/nats/message_headers.h"

#include <algorithm>

namespace outbox::nats {
namespace {

bool token_character(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
         (c != '\0' && std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos);
}

Result<void> check(const std::string& name, const std::string& value) {
  const auto invalid = [](std::string what) { return Failure{FailureKind::invalid, std::move(what)}; };
  if (name.empty() || !std::ranges::all_of(name, token_character)) {
    return invalid("header names are made of letters, digits and !#$%&'*+-.^_`|~");
  }
  if (reserved_header(name)) return invalid("the header " + name + " cannot be set by a message");
  if (value.find_first_of(std::string_view("\r\n\0", 3)) != std::string::npos) {
    return invalid("the value of the header " + name + " holds a line break or a NUL");
  }
  return {};
}

}  // namespace

Result<HeaderList> message_headers(const Record& record) {
  Result<HeaderList> headers = wire_headers(record);
  if (!headers) return headers;
  for (const auto& [name, value] : *headers) {
    if (Result<void> fine = check(name, value); !fine) return fine.failure();
  }
  headers->insert(headers->begin(), {"Nats-Msg-Id", record.id});
  return headers;
}

}  // namespace outbox::nats
