#include "client/json_text.h"

#include <bitset>
#include <cstdint>
#include <optional>

#include "client/utf8.h"

namespace outbox::client {
namespace {

// numeric takes 131,072 digits before the point and 16,383 after it; and a number here adds both of them up.
constexpr std::size_t kMaxJsonbDigits = 8'000;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  JsonVerdict judge() {
    if (document()) {
      skip_space();
      if (at_ < text_.size()) fail("text after the end of the value");
    }
    return std::move(verdict_);
  }

 private:
  bool fail(const char* what) {
    if (verdict_.defect.empty()) verdict_.defect = std::string(what) + " at byte " + std::to_string(at_);
    return false;
  }
  void unfit_for_jsonb(const char* what) {
    if (verdict_.jsonb_defect.empty()) verdict_.jsonb_defect = std::string(what) + " at byte " + std::to_string(at_);
  }

  bool at_end() const { return at_ == text_.size(); }
  char peek() const { return at_end() ? '\0' : text_[at_]; }
  bool take(char c) {
    if (at_end() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void skip_space() {
    while (!at_end() && (peek() == ' ' || peek() == '\t' || peek() == '\n' || peek() == '\r')) ++at_;
  }

  // Without recursion: what is open is kept in is_object_[0, depth_).
  bool document() {
    while (true) {
      skip_space();
      bool opened = false;
      if (!value(opened)) return false;
      if (opened) continue;
      bool more = false;
      while (depth_ > 0 && !more) {
        if (!after_element(more)) return false;
      }
      if (!more) return true;
    }
  }

  // A scalar or an empty container is read whole. `opened`: an element has to follow.
  bool value(bool& opened) {
    switch (peek()) {
      case '{': return open(true, opened);
      case '[': return open(false, opened);
      case '"': return string();
      case 't': return word("true");
      case 'f': return word("false");
      case 'n': return word("null");
      default: return number();
    }
  }

  bool open(bool object, bool& opened) {
    ++at_;
    skip_space();
    if (take(object ? '}' : ']')) return depth_ < kMaxJsonDepth || fail("nested too deeply");
    if (depth_ == kMaxJsonDepth) return fail("nested too deeply");
    is_object_[depth_++] = object;
    opened = true;
    return !object || name();
  }

  // What comes after an element of the innermost container: `more`, or the end of it.
  bool after_element(bool& more) {
    const bool object = is_object_[depth_ - 1];
    skip_space();
    if (take(',')) {
      more = true;
      skip_space();
      return !object || name();
    }
    if (!take(object ? '}' : ']')) return fail(object ? "expected ',' or '}'" : "expected ',' or ']'");
    --depth_;
    return true;
  }

  bool name() {
    if (peek() != '"') return fail("expected a name in quotes");
    if (!string()) return false;
    skip_space();
    return take(':') || fail("expected ':'");
  }

  bool word(std::string_view expected) {
    if (text_.substr(at_, expected.size()) != expected) return fail("unknown word");
    at_ += expected.size();
    return true;
  }

  bool string() {
    ++at_;
    while (!at_end()) {
      const char c = peek();
      if (c == '"') return ++at_, true;
      if (static_cast<std::uint8_t>(c) < 0x20) return fail("a control character inside a string");
      if (c == '\\') {
        if (!escape()) return false;
        continue;
      }
      const std::size_t length = utf8_length(text_.substr(at_));
      if (length == 0) return fail("not UTF-8");
      at_ += length;
    }
    return fail("a string without its end");
  }

  bool escape() {
    if (at_ + 1 == text_.size()) return fail("a string without its end");
    if (text_[at_ + 1] != 'u') {
      if (std::string_view("\"\\/bfnrt").find(text_[at_ + 1]) == std::string_view::npos) return fail("unknown escape");
      at_ += 2;
      return true;
    }
    const auto unit = code_unit();
    if (!unit) return fail("expected four hexadecimal digits after \\u");
    if (*unit == 0) unfit_for_jsonb("\\u0000");
    const bool high = *unit >= 0xd800 && *unit < 0xdc00;
    if (*unit >= 0xdc00 && *unit < 0xe000) unfit_for_jsonb("half a surrogate pair");
    at_ += 6;
    if (high) {
      const auto low = code_unit();
      if (low && *low >= 0xdc00 && *low < 0xe000) {
        at_ += 6;
      } else {
        unfit_for_jsonb("half a surrogate pair");
      }
    }
    return true;
  }

  // The \uXXXX that stands here, without moving on.
  std::optional<unsigned> code_unit() const {
    if (text_.substr(at_, 2) != "\\u" || text_.size() - at_ < 6) return std::nullopt;
    unsigned unit = 0;
    for (const char c : text_.substr(at_ + 2, 4)) {
      unit <<= 4;
      if (is_digit(c)) {
        unit += static_cast<unsigned>(c - '0');
      } else if ((c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F')) {
        unit += static_cast<unsigned>((c | 0x20) - 'a' + 10);
      } else {
        return std::nullopt;
      }
    }
    return unit;
  }

  bool number() {
    const std::size_t begin = at_;
    take('-');
    if (!take('0') && !digits()) return fail(at_ == begin ? "expected a value" : "expected a digit");
    if (take('.') && !digits()) return fail("expected a digit");
    if (peek() == 'e' || peek() == 'E') {
      ++at_;
      if (!take('+')) take('-');
      const std::size_t exponent = at_;
      if (!digits()) return fail("expected a digit");
      if (exponent_beyond(text_.substr(exponent, at_ - exponent))) unfit_for_jsonb("a number out of range");
    }
    if (at_ - begin > kMaxJsonbDigits) unfit_for_jsonb("a number with too many digits");
    return true;
  }

  bool digits() {
    const std::size_t begin = at_;
    while (!at_end() && is_digit(peek())) ++at_;
    return at_ > begin;
  }

  static bool exponent_beyond(std::string_view digits) {
    std::size_t value = 0;
    for (const char c : digits) {
      value = value * 10 + static_cast<std::size_t>(c - '0');
      if (value > kMaxJsonbDigits) return true;
    }
    return false;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t depth_ = 0;
  std::bitset<kMaxJsonDepth> is_object_;
  JsonVerdict verdict_;
};

}  // namespace

JsonVerdict judge_json(std::string_view text) { return Scanner(text).judge(); }

}  // namespace outbox::client
