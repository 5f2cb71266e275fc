#include "client/utf8.h"

#include <cstdint>

namespace outbox::client {
namespace {

bool between(char c, std::uint8_t low, std::uint8_t high) {
  const auto byte = static_cast<std::uint8_t>(c);
  return byte >= low && byte <= high;
}

}  // namespace

// Unicode 15, table 3-7.
std::size_t utf8_length(std::string_view text) {
  const auto first = static_cast<std::uint8_t>(text[0]);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < length) return 0;
  const std::uint8_t low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
  const std::uint8_t high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
  if (!between(text[1], low, high)) return 0;
  for (std::size_t i = 2; i < length; ++i) {
    if (!between(text[i], 0x80, 0xbf)) return 0;
  }
  return length;
}

std::optional<std::size_t> utf8_defect(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t length = utf8_length(text.substr(at));
    if (length == 0) return at;
    at += length;
  }
  return std::nullopt;
}

}  // namespace outbox::client
