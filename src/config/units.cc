#include "config/units.h"

#include <fmt/format.h>

#include <optional>
#include <span>
#include <string>

namespace outbox::config {

namespace {

struct Unit {
  std::string_view name;
  std::int64_t factor;
};
constexpr Unit kDurationUnits[] = {{"us", 1},         {"ms", 1'000},        {"s", 1'000'000},
                                   {"m", 60'000'000}, {"h", 3'600'000'000}, {"d", 86'400'000'000}};
constexpr Unit kSizeUnits[] = {{"B", 1}, {"KB", 1 << 10}, {"MB", 1 << 20}, {"GB", 1 << 30}};

bool digit(char c) { return c >= '0' && c <= '9'; }

Failure invalid(std::string what) { return {FailureKind::invalid, std::move(what)}; }

// whole.fraction · factor without rounding; nullopt if it does not come out even or does not fit.
std::optional<std::int64_t> scaled(std::string_view whole, std::string_view fraction, std::int64_t factor) {
  std::int64_t value = 0;
  for (const char c : whole) {
    if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, c - '0', &value)) return {};
  }
  if (__builtin_mul_overflow(value, factor, &value)) return {};
  std::int64_t rest = 0;
  std::int64_t divisor = 1;
  for (const char c : fraction) {
    if (divisor >= 1'000'000'000) return {};
    rest = rest * 10 + (c - '0');
    divisor *= 10;
  }
  std::int64_t part = 0;
  if (__builtin_mul_overflow(rest, factor, &part) || part % divisor != 0) return {};
  if (__builtin_add_overflow(value, part / divisor, &value)) return {};
  return value;
}

std::string unit_names(std::span<const Unit> units) {
  std::string names;
  for (const Unit& unit : units) names += (names.empty() ? "" : ", ") + std::string(unit.name);
  return names;
}

Result<std::int64_t> parse(std::string_view text, std::span<const Unit> units, std::string_view example) {
  std::size_t end = 0;
  while (end < text.size() && digit(text[end])) ++end;
  const std::string_view whole = text.substr(0, end);
  std::string_view fraction;
  if (end < text.size() && text[end] == '.') {
    const std::size_t begin = ++end;
    while (end < text.size() && digit(text[end])) ++end;
    fraction = text.substr(begin, end - begin);
    if (fraction.empty())
      return invalid(fmt::format("'{}' has no digits behind the point; write it like {}", text, example));
  }
  const std::string_view unit_text = text.substr(end);
  if (text.empty()) return invalid(fmt::format("is empty; write it like {}", example));
  if (text.front() == '-') return invalid(fmt::format("'{}' is negative; write it like {}", text, example));
  if (whole.empty()) return invalid(fmt::format("'{}' does not begin with a number; write it like {}", text, example));
  if (unit_text.empty()) {
    return invalid(fmt::format("'{}' has no unit; write it with one of {}, like {}", text, unit_names(units), example));
  }
  if (unit_text.front() == ' ')
    return invalid(fmt::format("'{}' has a space before the unit; write it like {}", text, example));
  for (const Unit& unit : units) {
    if (unit.name != unit_text) continue;
    if (const auto value = scaled(whole, fraction, unit.factor)) return *value;
    return invalid(fmt::format("'{}' is too large or too fine to be exact", text));
  }
  return invalid(
      fmt::format("'{}' has an unknown unit '{}'; one of {} is expected", text, unit_text, unit_names(units)));
}

}  // namespace

Result<Duration> parse_duration(std::string_view text) {
  auto micros = parse(text, kDurationUnits, "10s");
  if (!micros) return micros.failure();
  return Duration(*micros);
}

Result<std::int64_t> parse_size(std::string_view text) { return parse(text, kSizeUnits, "64MB"); }

std::string size_text(std::int64_t bytes) {
  const Unit* best = &kSizeUnits[0];
  for (const Unit& unit : kSizeUnits) {
    if (bytes != 0 && bytes % unit.factor == 0) best = &unit;
  }
  return fmt::format("{}{}", bytes / best->factor, best->name);
}

}  // namespace outbox::config
