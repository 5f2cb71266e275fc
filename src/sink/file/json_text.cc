#include "sink/file/json_text.h"

#include <cstdint>
#include <cstring>

namespace outbox::file {
namespace {

constexpr std::uint64_t every_byte(std::uint8_t byte) { return 0x0101010101010101ULL * byte; }

// True if one of eight bytes is a quote, a backslash, a control character or not ASCII.
bool has_special(std::uint64_t word) {
  const auto has_zero = [](std::uint64_t w) { return (w - every_byte(1)) & ~w; };
  const std::uint64_t control = (word - every_byte(0x20)) & ~word;
  const std::uint64_t hits = control | has_zero(word ^ every_byte('"')) | has_zero(word ^ every_byte('\\')) | word;
  return (hits & every_byte(0x80)) != 0;
}

bool special(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte < 0x20 || byte >= 0x80 || c == '"' || c == '\\';
}

// The first byte from `at` on that a JSON string cannot simply hold, or `end`.
const char* plain_end(const char* at, const char* end) {
  while (end - at >= 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, at, sizeof word);
    if (has_special(word)) break;
    at += 8;
  }
  while (at != end && !special(*at)) ++at;
  return at;
}

// How many bytes the UTF-8 sequence at `at` has, which starts with a byte from 0x80 on; 0 if it is not a valid one.
std::size_t utf8_length(const char* at, const char* end) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(at[i]); };
  const auto left = static_cast<std::size_t>(end - at);
  const auto continues = [&](std::size_t i) { return (byte(i) & 0xC0) == 0x80; };
  const unsigned char first = byte(0);
  if (first >= 0xC2 && first <= 0xDF) return left >= 2 && continues(1) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    if (left < 3 || !continues(1) || !continues(2)) return 0;
    const bool overlong = first == 0xE0 && byte(1) < 0xA0;
    const bool surrogate = first == 0xED && byte(1) > 0x9F;
    return overlong || surrogate ? 0 : 3;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    if (left < 4 || !continues(1) || !continues(2) || !continues(3)) return 0;
    const bool overlong = first == 0xF0 && byte(1) < 0x90;
    const bool too_high = first == 0xF4 && byte(1) > 0x8F;
    return overlong || too_high ? 0 : 4;
  }
  return 0;
}

bool digit(char c) { return c >= '0' && c <= '9'; }
bool hex_digit(char c) { return digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

// Checks a JSON text and writes a blank over each line break between its tokens. The nesting is a string of the
// brackets that are open, not the call stack: a hostile depth costs a byte a level.
class Scanner {
 public:
  Scanner(char* at, char* end) : at_(at), end_(end) {}

  bool scan() {
    for (;;) {
      if (!start_value()) return false;
      if (opened_) continue;
      if (!finish_value()) return false;
      if (done_) return true;
    }
  }

 private:
  // One scalar, an empty container, or the opening of a container up to its first value (opened_).
  bool start_value() {
    opened_ = false;
    skip_blanks();
    if (at_ == end_) return false;
    switch (*at_) {
      case '"': return string();
      case '{': return open('{', '}');
      case '[': return open('[', ']');
      case 't': return word("true");
      case 'f': return word("false");
      case 'n': return word("null");
      default: return number();
    }
  }

  // Closes what ends here; goes on to the next value of the innermost container, or to the end of the text (done_).
  bool finish_value() {
    for (;;) {
      skip_blanks();
      if (open_.empty()) return done_ = at_ == end_;
      if (at_ == end_) return false;
      const bool object = open_.back() == '{';
      const char next = *at_++;
      if (next == ',') return !object || name();
      if (next != (object ? '}' : ']')) return false;
      open_.pop_back();
    }
  }

  bool open(char bracket, char closing) {
    ++at_;
    skip_blanks();
    if (at_ != end_ && *at_ == closing) {
      ++at_;
      return true;
    }
    open_.push_back(bracket);
    opened_ = true;
    return bracket == '[' || name();
  }

  bool name() {
    skip_blanks();
    if (at_ == end_ || *at_ != '"' || !string()) return false;
    skip_blanks();
    return at_ != end_ && *at_++ == ':';
  }

  bool string() {
    ++at_;
    for (;;) {
      at_ += plain_end(at_, end_) - at_;
      if (at_ == end_ || static_cast<unsigned char>(*at_) < 0x20) return false;
      if (*at_ == '"') {
        ++at_;
        return true;
      }
      if (*at_ == '\\' ? !escape() : !multibyte()) return false;
    }
  }

  bool multibyte() {
    const std::size_t length = utf8_length(at_, end_);
    at_ += length;
    return length != 0;
  }

  bool escape() {
    if (end_ - at_ < 2) return false;
    const char what = at_[1];
    at_ += 2;
    if (what != 'u') return std::strchr("\"\\/bfnrt", what) != nullptr && what != '\0';
    if (end_ - at_ < 4) return false;
    for (int i = 0; i < 4; ++i) {
      if (!hex_digit(*at_++)) return false;
    }
    return true;
  }

  bool word(std::string_view text) {
    if (static_cast<std::size_t>(end_ - at_) < text.size() || std::string_view(at_, text.size()) != text) return false;
    at_ += text.size();
    return true;
  }

  bool digits() {
    const char* const first = at_;
    while (at_ != end_ && digit(*at_)) ++at_;
    return at_ != first;
  }

  bool number() {
    if (*at_ == '-') ++at_;
    const bool zero = at_ != end_ && *at_ == '0';
    if (zero) ++at_;
    if (!zero && !digits()) return false;
    if (at_ != end_ && *at_ == '.') {
      ++at_;
      if (!digits()) return false;
    }
    if (at_ != end_ && (*at_ == 'e' || *at_ == 'E')) {
      ++at_;
      if (at_ != end_ && (*at_ == '+' || *at_ == '-')) ++at_;
      return digits();
    }
    return true;
  }

  void skip_blanks() {
    for (; at_ != end_; ++at_) {
      if (*at_ == '\n' || *at_ == '\r') {
        *at_ = ' ';
      } else if (*at_ != ' ' && *at_ != '\t') {
        return;
      }
    }
  }

  char* at_;
  char* const end_;
  std::string open_;
  bool opened_ = false;
  bool done_ = false;
};

}  // namespace

bool append_one_line(std::string_view json, std::string& out) {
  const std::size_t before = out.size();
  out.append(json);
  if (Scanner(out.data() + before, out.data() + out.size()).scan()) return true;
  out.resize(before);
  return false;
}

void append_base64(std::string_view bytes, std::string& out) {
  static constexpr char kAlphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const auto byte = [&](std::size_t i) {
    return i < bytes.size() ? static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[i])) : 0U;
  };
  out.reserve(out.size() + (bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::uint32_t group = byte(i) << 16 | byte(i + 1) << 8 | byte(i + 2);
    out += kAlphabet[group >> 18 & 63];
    out += kAlphabet[group >> 12 & 63];
    out += i + 1 < bytes.size() ? kAlphabet[group >> 6 & 63] : '=';
    out += i + 2 < bytes.size() ? kAlphabet[group & 63] : '=';
  }
}

}  // namespace outbox::file
