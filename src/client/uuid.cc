#include "client/uuid.h"

#include <cstddef>

namespace outbox::client {
namespace {

constexpr std::size_t kLength = 36;

bool is_hyphen_place(std::size_t index) { return index == 8 || index == 13 || index == 18 || index == 23; }

std::optional<std::uint8_t> hex_value(char c) {
  if (c >= '0' && c <= '9') return static_cast<std::uint8_t>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<std::uint8_t>(c - 'a' + 10);
  if (c >= 'A' && c <= 'F') return static_cast<std::uint8_t>(c - 'A' + 10);
  return std::nullopt;
}

}  // namespace

std::optional<Uuid> parse_uuid(std::string_view text) {
  if (text.size() != kLength) return std::nullopt;
  Uuid uuid{};
  std::size_t digits = 0;
  for (std::size_t i = 0; i < kLength; ++i) {
    if (is_hyphen_place(i)) {
      if (text[i] != '-') return std::nullopt;
      continue;
    }
    const auto value = hex_value(text[i]);
    if (!value) return std::nullopt;
    std::uint8_t& byte = uuid[digits / 2];
    byte = static_cast<std::uint8_t>(byte << 4 | *value);
    ++digits;
  }
  return uuid;
}

std::string uuid_text(const Uuid& uuid) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(kLength);
  for (const std::uint8_t byte : uuid) {
    if (is_hyphen_place(text.size())) text += '-';
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

}  // namespace outbox::client
