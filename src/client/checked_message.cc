#include "client/checked_message.h"

#include <algorithm>
#include <chrono>
#include <optional>

#include "client/header_text.h"
#include "client/json_text.h"
#include "client/utf8.h"
#include "outbox/error.h"

namespace outbox::client {
namespace {

constexpr std::size_t kMaxName = 255;
// PostgreSQL takes 1 GB in one statement, as one value after conversion.
constexpr std::size_t kMaxCall = 200'000'000;
constexpr std::size_t kTraceparentLength = 55;

// W3C Trace Context, level 1: version 00 has exactly these fields, a later one may go on after them.
bool is_traceparent(std::string_view text) {
  if (text.size() < kTraceparentLength) return false;
  for (std::size_t i = 0; i < kTraceparentLength; ++i) {
    const bool hyphen = i == 2 || i == 35 || i == 52;
    const bool hex = (text[i] >= '0' && text[i] <= '9') || (text[i] >= 'a' && text[i] <= 'f');
    if (hyphen ? text[i] != '-' : !hex) return false;
  }
  const std::string_view version = text.substr(0, 2);
  if (version == "ff") return false;
  if (text.size() > kTraceparentLength && (version == "00" || text[kTraceparentLength] != '-')) return false;
  const auto is_zero = [](std::string_view digits) { return digits.find_first_not_of('0') == std::string_view::npos; };
  return !is_zero(text.substr(3, 32)) && !is_zero(text.substr(36, 16));
}

class Checker {
 public:
  Checker(const Message& message, const EnqueueOptions& options, std::string label)
      : message_(message), options_(options), label_(std::move(label)) {}

  CheckedMessage check() const {
    CheckedMessage checked;
    checked.message = &message_;
    checked.id = id();
    name("aggregate type", message_.aggregate_type);
    name("aggregate id", message_.aggregate_id);
    name("type", message_.type);
    due_time();
    if (!message_.traceparent.empty()) {
      text("traceparent", message_.traceparent);
      if (!is_traceparent(message_.traceparent)) fail("traceparent is not a W3C trace context");
    }
    for (const auto& [header, value] : message_.headers) {
      if (header.empty()) fail("a header has no name");
      text("a header's name", header);
      text("a header's value", value);
    }
    checked.headers = header_text(message_.headers);
    checked.jsonb_defect = payload();
    return checked;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const { refuse(label_ + ": " + what); }

  Uuid id() const {
    const auto uuid = parse_uuid(message_.id.empty() ? make_message_id() : message_.id);
    if (!uuid) fail("the id is not a UUID of 36 characters");
    return *uuid;
  }

  void text(const std::string& field, std::string_view value) const {
    if (value.find('\0') != std::string_view::npos) fail(field + " holds a NUL");
    if (const auto at = utf8_defect(value)) fail(field + " is not UTF-8 at byte " + std::to_string(*at));
  }

  void name(const std::string& field, std::string_view value) const {
    if (value.empty()) fail(field + " is empty");
    if (value.size() > kMaxName) {
      fail(field + " has " + std::to_string(value.size()) + " bytes, the limit is " + std::to_string(kMaxName));
    }
    text(field, value);
  }

  void due_time() const {
    using std::chrono::sys_days;
    using std::chrono::year;
    if (!message_.not_before) return;
    if (*message_.not_before < sys_days(year(1) / 1 / 1) || *message_.not_before >= sys_days(year(10000) / 1 / 1)) {
      fail("not_before is outside the years 1 to 9999");
    }
  }

  std::string payload() const {
    const std::size_t size = message_.payload.size();
    if (size > options_.max_payload) {
      fail("the payload has " + std::to_string(size) + " bytes, the limit is " + std::to_string(options_.max_payload) +
           " (EnqueueOptions::max_payload)");
    }
    if (message_.payload_is_bytes) return {};
    JsonVerdict verdict = judge_json(message_.payload);
    if (!verdict.defect.empty()) fail("the payload is not JSON: " + verdict.defect + " (or set payload_is_bytes)");
    return verdict.jsonb_defect;
  }

  const Message& message_;
  const EnqueueOptions& options_;
  std::string label_;
};

std::size_t stored_size(const CheckedMessage& checked) {
  const Message& message = *checked.message;
  return message.payload.size() + checked.headers.size() + message.aggregate_type.size() + message.aggregate_id.size() +
         message.type.size();
}

}  // namespace

void refuse(const std::string& what) { throw Error(what, {}, false, false); }

std::string message_label(std::size_t index, std::size_t count) {
  if (count == 1) return "message";
  return "message " + std::to_string(index + 1) + " of " + std::to_string(count);
}

std::vector<CheckedMessage> check_messages(std::span<const Message> messages, const EnqueueOptions& options) {
  std::vector<CheckedMessage> checked;
  checked.reserve(messages.size());
  std::size_t total = 0;
  for (const Message& message : messages) {
    checked.push_back(Checker(message, options, message_label(checked.size(), messages.size())).check());
    total += stored_size(checked.back());
    if (total > kMaxCall) refuse("the messages of one call have more than " + std::to_string(kMaxCall) + " bytes");
  }
  return checked;
}

}  // namespace outbox::client
