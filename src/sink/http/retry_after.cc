#include "sink/http/retry_after.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <string>

namespace outbox::http {
namespace {

constexpr std::array<std::string_view, 12> kMonths{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                   "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

struct Fields {
  int year = 0;
  int day = 0;
  int hour = 0;
  int minute = 0;
  int second = 0;
  char month[4] = {};
};

bool read_fixdate(const char* text, Fields& f) {
  int end = 0;
  return std::sscanf(text, "%*3[A-Za-z], %2d %3[A-Za-z] %4d %2d:%2d:%2d GMT%n", &f.day, f.month, &f.year, &f.hour,
                     &f.minute, &f.second, &end) == 6 &&
         end > 0 && text[end] == '\0';
}

// Two digits of a year: the century that is not more than 50 years ahead (RFC 9110, 5.6.7).
bool read_rfc850(const char* text, Fields& f, Time now) {
  int end = 0;
  const bool read = std::sscanf(text, "%*9[A-Za-z], %2d-%3[A-Za-z]-%2d %2d:%2d:%2d GMT%n", &f.day, f.month, &f.year,
                                &f.hour, &f.minute, &f.second, &end) == 6 &&
                    end > 0 && text[end] == '\0';
  const int this_year =
      static_cast<int>(std::chrono::year_month_day(std::chrono::floor<std::chrono::days>(now)).year());
  f.year += this_year / 100 * 100;
  if (f.year > this_year + 50) f.year -= 100;
  return read;
}

bool read_asctime(const char* text, Fields& f) {
  int end = 0;
  return std::sscanf(text, "%*3[A-Za-z] %3[A-Za-z] %2d %2d:%2d:%2d %4d%n", f.month, &f.day, &f.hour, &f.minute,
                     &f.second, &f.year, &end) == 6 &&
         end > 0 && text[end] == '\0';
}

std::optional<Time> parse_date(const std::string& text, Time now) {
  Fields f;
  if (!read_fixdate(text.c_str(), f) && !read_rfc850(text.c_str(), f, now) && !read_asctime(text.c_str(), f)) return {};
  const auto month = std::ranges::find(kMonths, std::string_view(f.month));
  if (month == kMonths.end()) return {};
  const std::chrono::year_month_day date{std::chrono::year(f.year),
                                         std::chrono::month(static_cast<unsigned>(month - kMonths.begin()) + 1),
                                         std::chrono::day(static_cast<unsigned>(f.day))};
  const auto within = [](int value, int most) { return value >= 0 && value <= most; };
  if (!date.ok() || !within(f.hour, 23) || !within(f.minute, 59) || !within(f.second, 60)) return {};
  return Time(std::chrono::sys_days(date)) + std::chrono::hours(f.hour) + std::chrono::minutes(f.minute) +
         std::chrono::seconds(f.second);
}

std::optional<Duration> positive(Duration wait) {
  if (wait <= Duration{0}) return {};
  return std::min(wait, kRetryAfterMax);
}

}  // namespace

std::optional<Duration> parse_retry_after(std::string_view value, Time now) {
  const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; };
  while (!value.empty() && blank(value.front())) value.remove_prefix(1);
  while (!value.empty() && blank(value.back())) value.remove_suffix(1);
  if (value.empty() || value.size() > 64) return {};
  if (std::ranges::all_of(value, [](char c) { return c >= '0' && c <= '9'; })) {
    constexpr long kMost = std::chrono::duration_cast<std::chrono::seconds>(kRetryAfterMax).count();
    long seconds = 0;
    for (const char c : value) seconds = std::min(kMost, seconds * 10 + (c - '0'));
    return positive(std::chrono::seconds(seconds));
  }
  const auto date = parse_date(std::string(value), now);
  if (!date) return {};
  return positive(*date - now);
}

}  // namespace outbox::http
