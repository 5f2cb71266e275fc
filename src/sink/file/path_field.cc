#include "sink/file/path_field.h"

namespace outbox::file {

std::string escape_path_field(std::string_view value) {
  static constexpr char kHex[] = "0123456789ABCDEF";
  if (value.empty()) return "%";
  const bool dots = value == "." || value == "..";
  std::string out;
  for (const char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    if (c != '/' && c != '%' && byte >= 0x20 && byte != 0x7f && !dots) {
      out += c;
    } else {
      out += '%';
      out += kHex[byte >> 4];
      out += kHex[byte & 0xF];
    }
  }
  return out;
}

}  // namespace outbox::file
