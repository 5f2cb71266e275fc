#include "base/json_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

namespace outbox {

namespace {

bool continuation(unsigned char byte) { return (byte & 0xC0) == 0x80; }

// Length of the well-formed UTF-8 sequence that `text` begins with, 0 if there is none (RFC 3629).
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const auto lead = byte(0);
  const auto second = static_cast<unsigned char>(byte(1));
  const bool two = continuation(second);
  const bool three = two && continuation(static_cast<unsigned char>(byte(2)));
  const bool four = three && continuation(static_cast<unsigned char>(byte(3)));
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead <= 0xDF) return two ? 2 : 0;
  if (lead == 0xE0) return three && second >= 0xA0 ? 3 : 0;
  if (lead == 0xED) return three && second <= 0x9F ? 3 : 0;
  if (lead >= 0xE1 && lead <= 0xEF) return three ? 3 : 0;
  if (lead == 0xF0) return four && second >= 0x90 ? 4 : 0;
  if (lead == 0xF4) return four && second <= 0x8F ? 4 : 0;
  return lead >= 0xF1 && lead <= 0xF3 && four ? 4 : 0;
}

void append_escaped(std::string& out, char c) {
  switch (c) {
    case '"': out += "\\\""; return;
    case '\\': out += "\\\\"; return;
    case '\n': out += "\\n"; return;
    case '\r': out += "\\r"; return;
    case '\t': out += "\\t"; return;
    default: break;
  }
  if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
    fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<unsigned>(c));
  } else {
    out.push_back(c);
  }
}

}  // namespace

void append_json_string(std::string& out, std::string_view text) {
  const auto plain = [](char c) { return c >= 0x20 && c != '"' && c != '\\' && c != 0x7f; };
  out.push_back('"');
  for (;;) {
    const auto run = static_cast<std::size_t>(std::find_if_not(text.begin(), text.end(), plain) - text.begin());
    out.append(text.substr(0, run));
    text.remove_prefix(run);
    if (text.empty()) break;
    const std::size_t length = utf8_length(text);
    if (length == 1) {
      append_escaped(out, text.front());
    } else if (length == 0) {
      out += "\xEF\xBF\xBD";
    } else {
      out.append(text.substr(0, length));
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  out.push_back('"');
}

void JsonWriter::separate() {
  if (text_.empty()) return;
  const char last = text_.back();
  if (last != '{' && last != '[' && last != ':') text_.push_back(',');
}

JsonWriter& JsonWriter::open(char bracket) {
  separate();
  text_.push_back(bracket);
  return *this;
}

JsonWriter& JsonWriter::close(char bracket) {
  text_.push_back(bracket);
  return *this;
}

JsonWriter& JsonWriter::key(std::string_view name) {
  separate();
  append_json_string(text_, name);
  text_.push_back(':');
  return *this;
}

JsonWriter& JsonWriter::value(std::string_view text) {
  separate();
  append_json_string(text_, text);
  return *this;
}

JsonWriter& JsonWriter::value(double number) { return std::isfinite(number) ? raw(fmt::format("{}", number)) : null(); }

JsonWriter& JsonWriter::raw(std::string_view json) {
  separate();
  text_.append(json);
  return *this;
}

}  // namespace outbox
