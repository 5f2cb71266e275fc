#include "base/utf8.h"

#include <algorithm>

namespace outbox {
namespace {

// Bytes of the well-formed character at the front (Unicode, table 3-7); 0: there is none.
std::size_t character(std::string_view text) {
  const auto in = [&](std::size_t index, unsigned least, unsigned most) {
    if (index >= text.size()) return false;
    const auto byte = static_cast<unsigned char>(text[index]);
    return byte >= least && byte <= most;
  };
  if (in(0, 0x01, 0x7f)) return 1;
  if (in(0, 0xc2, 0xdf) && in(1, 0x80, 0xbf)) return 2;
  const bool three = (in(0, 0xe0, 0xe0) && in(1, 0xa0, 0xbf)) || (in(0, 0xed, 0xed) && in(1, 0x80, 0x9f)) ||
                     ((in(0, 0xe1, 0xec) || in(0, 0xee, 0xef)) && in(1, 0x80, 0xbf));
  if (three && in(2, 0x80, 0xbf)) return 3;
  const bool four = (in(0, 0xf0, 0xf0) && in(1, 0x90, 0xbf)) || (in(0, 0xf4, 0xf4) && in(1, 0x80, 0x8f)) ||
                    (in(0, 0xf1, 0xf3) && in(1, 0x80, 0xbf));
  if (four && in(2, 0x80, 0xbf) && in(3, 0x80, 0xbf)) return 4;
  return 0;
}

}  // namespace

std::string valid_utf8(std::string_view text, std::size_t max_bytes) {
  std::string valid;
  while (!text.empty()) {
    const auto length = character(text);
    const auto taken = std::max<std::size_t>(length, 1);
    if (valid.size() + taken > max_bytes) break;
    if (length == 0) {
      valid += '?';
    } else {
      valid += text.substr(0, length);
    }
    text.remove_prefix(taken);
  }
  return valid;
}

}  // namespace outbox
