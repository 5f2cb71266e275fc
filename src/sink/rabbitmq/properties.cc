#include "sink/rabbitmq/properties.h"

#include <fmt/core.h>
#include <strings.h>

#include <algorithm>
#include <string_view>

#include "sink/rabbitmq/address.h"

namespace outbox::rabbitmq {
namespace {

constexpr std::uint8_t kPersistent = 2;
constexpr std::size_t kFrameOverhead = 8;
constexpr std::size_t kContentHeader = 12 + 2 + 1 + 8;  // class, weight, size; flags; delivery mode; timestamp

// librabbitmq takes void*, and reads only.
amqp_bytes_t to_bytes(std::string_view text) { return {text.size(), const_cast<char*>(text.data())}; }

std::string_view to_view(amqp_bytes_t bytes) { return {static_cast<const char*>(bytes.bytes), bytes.len}; }

amqp_field_value_t to_value(std::string_view text) {
  amqp_field_value_t value{};
  value.kind = AMQP_FIELD_KIND_UTF8;
  value.value.bytes = to_bytes(text);
  return value;
}

std::size_t size_of(const amqp_field_value_t& value) {
  std::size_t size = 1 + 4;
  if (value.kind == AMQP_FIELD_KIND_UTF8) return size + value.value.bytes.len;
  for (int i = 0; i < value.value.array.num_entries; ++i) size += size_of(value.value.array.entries[i]);
  return size;
}

// With these the message itself would choose further queues.
bool routes(std::string_view header) { return header == "CC" || header == "BCC"; }

}  // namespace

Properties::Properties(const Record& record, const HeaderList& headers) {
  properties_._flags = AMQP_BASIC_DELIVERY_MODE_FLAG | AMQP_BASIC_MESSAGE_ID_FLAG | AMQP_BASIC_TYPE_FLAG |
                       AMQP_BASIC_TIMESTAMP_FLAG | AMQP_BASIC_HEADERS_FLAG;
  properties_.delivery_mode = kPersistent;
  properties_.message_id = to_bytes(record.id);
  properties_.type = to_bytes(record.type);
  const auto seconds = std::chrono::floor<std::chrono::seconds>(record.created_at.time_since_epoch()).count();
  properties_.timestamp = static_cast<std::uint64_t>(std::max<std::int64_t>(seconds, 0));
  entries_.reserve(headers.size());
  for (const auto& [name, value] : headers) {
    if (::strcasecmp(name.c_str(), "content-type") == 0) {
      properties_._flags |= AMQP_BASIC_CONTENT_TYPE_FLAG;
      properties_.content_type = to_bytes(value);
    }
    add_header(name, value);
  }
  properties_.headers.num_entries = static_cast<int>(entries_.size());
  properties_.headers.entries = entries_.data();
}

void Properties::add_header(const std::string& name, const std::string& value) {
  const auto same = std::ranges::find_if(entries_, [&](const auto& each) { return to_view(each.key) == name; });
  if (same == entries_.end()) {
    entries_.push_back({to_bytes(name), to_value(value)});
    return;
  }
  if (same->value.kind != AMQP_FIELD_KIND_ARRAY) {
    arrays_.push_back({same->value});
    same->value.kind = AMQP_FIELD_KIND_ARRAY;
    same->value.value.array.entries = arrays_.back().data();
  }
  const auto array =
      std::ranges::find_if(arrays_, [&](const auto& each) { return each.data() == same->value.value.array.entries; });
  array->push_back(to_value(value));
  same->value.value.array = {static_cast<int>(array->size()), array->data()};
}

std::size_t Properties::encoded_size() const {
  std::size_t size = kContentHeader + 4;
  for (const auto* text : {&properties_.content_type, &properties_.message_id, &properties_.type}) {
    size += 1 + text->len;
  }
  for (const amqp_table_entry_t& entry : entries_) size += 1 + entry.key.len + size_of(entry.value);
  return size;
}

std::optional<Outcome> Properties::refusal(std::size_t frame_max) const {
  struct Text {
    std::string_view name;
    std::size_t size;
  };
  for (const Text& text : {Text{"message id", properties_.message_id.len}, Text{"message type", properties_.type.len},
                           Text{"content type", properties_.content_type.len}}) {
    if (text.size > kShortStringMax) {
      return rejected("property_too_long",
                      fmt::format("the {} has {} bytes, AMQP allows {}", text.name, text.size, kShortStringMax));
    }
  }
  for (const amqp_table_entry_t& entry : entries_) {
    const std::string_view name = to_view(entry.key);
    if (name.size() > kShortStringMax) {
      return rejected("bad_headers",
                      fmt::format("a header's name has {} bytes, AMQP allows {}", name.size(), kShortStringMax));
    }
    if (routes(name)) {
      return rejected("bad_headers",
                      fmt::format("the header {} would route the message to further queues; remove it", name));
    }
  }
  const std::size_t size = encoded_size() + kFrameOverhead;
  if (size <= frame_max) return std::nullopt;
  return rejected("headers_too_large",
                  fmt::format("properties and headers take {} bytes; this broker's frames carry {}", size, frame_max));
}

}  // namespace outbox::rabbitmq
