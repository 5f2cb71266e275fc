#include "db/sqlite_time.h"

#include <cmath>

namespace outbox::db {
namespace {

// Reads digits off the front of a text.
class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}

  bool number(std::size_t digits, int& value) {
    if (rest_.size() < digits) return false;
    value = 0;
    for (std::size_t i = 0; i < digits; ++i) {
      if (!digit(rest_[i])) return false;
      value = value * 10 + (rest_[i] - '0');
    }
    rest_.remove_prefix(digits);
    return true;
  }
  bool one_of(std::string_view characters) {
    if (rest_.empty() || characters.find(rest_.front()) == std::string_view::npos) return false;
    taken_ = rest_.front();
    rest_.remove_prefix(1);
    return true;
  }
  // Digits of a fraction, cut to microseconds.
  bool fraction(int& micros) {
    std::size_t digits = 0;
    micros = 0;
    for (; digits < rest_.size() && digit(rest_[digits]); ++digits) {
      if (digits < 6) micros = micros * 10 + (rest_[digits] - '0');
    }
    for (auto missing = digits; missing < 6; ++missing) micros *= 10;
    rest_.remove_prefix(digits);
    return digits > 0;
  }
  char taken() const { return taken_; }
  bool done() const { return rest_.empty(); }

 private:
  static bool digit(char c) { return c >= '0' && c <= '9'; }

  std::string_view rest_;
  char taken_ = 0;
};

bool read_zone(Reader& reader, std::chrono::minutes& offset) {
  if (reader.one_of("Zz")) return true;
  if (!reader.one_of("+-")) return false;
  const int sign = reader.taken() == '-' ? -1 : 1;
  int hours = 0;
  int minutes = 0;
  if (!reader.number(2, hours)) return false;
  reader.one_of(":");
  if (!reader.done() && !reader.number(2, minutes)) return false;
  if (hours > 23 || minutes > 59) return false;
  offset = std::chrono::minutes(sign * (hours * 60 + minutes));
  return true;
}

}  // namespace

std::optional<Time> parse_sqlite_time(std::string_view text) {
  Reader reader(text);
  int year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0, micros = 0;
  if (!reader.number(4, year) || !reader.one_of("-") || !reader.number(2, month) || !reader.one_of("-") ||
      !reader.number(2, day)) {
    return {};
  }
  const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok()) return {};
  std::chrono::minutes offset{0};
  if (!reader.done()) {
    if (!reader.one_of("T ") || !reader.number(2, hour) || !reader.one_of(":") || !reader.number(2, minute)) return {};
    if (reader.one_of(":")) {
      if (!reader.number(2, second)) return {};
      if (reader.one_of(".,") && !reader.fraction(micros)) return {};
    }
    reader.one_of(" ");
    if (!reader.done() && !read_zone(reader, offset)) return {};
  }
  if (!reader.done() || hour > 24 || minute > 59 || second > 60) return {};
  return std::chrono::time_point_cast<Duration>(std::chrono::sys_days(date)) + std::chrono::hours(hour) +
         std::chrono::minutes(minute) + std::chrono::seconds(second) + Duration(micros) - offset;
}

std::optional<Time> read_sqlite_time(const SqliteRows& rows, int column) {
  constexpr double kSecondsBelow = 1e11;  // the year 5138
  constexpr double kMillisBelow = 1e14;
  switch (rows.type(column)) {
    case SqliteRows::Type::text: return parse_sqlite_time(rows.text(column));
    case SqliteRows::Type::integer:
    case SqliteRows::Type::real: {
      const double value = rows.real(column);
      if (rows.type(column) == SqliteRows::Type::real && value < 1e7) {
        constexpr double kJulianDayOf1970 = 2440587.5;
        return Time(Duration(std::llround((value - kJulianDayOf1970) * 86'400e6)));
      }
      if (!(value >= 0) || value >= 9e18) return {};
      if (value < kSecondsBelow) return Time(Duration(std::llround(value * 1e6)));
      if (value < kMillisBelow) return Time(Duration(std::llround(value * 1e3)));
      return Time(Duration(rows.integer(column)));
    }
    default: return {};
  }
}

}  // namespace outbox::db
