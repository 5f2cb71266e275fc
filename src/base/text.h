// Small text helpers that several folders share.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"

namespace outbox {

std::vector<std::string> split(std::string_view text, char separator);
std::string join(std::span<const std::string> parts, std::string_view separator);
std::string_view trim(std::string_view text);

// Insertions, deletions and substitutions between the two.
std::size_t edit_distance(std::string_view a, std::string_view b);

// The candidate that a typing error most likely meant, or empty if none is near.
std::string nearest(std::string_view word, std::span<const std::string> candidates);

// "2026-01-31T09:30:00.123456Z"
std::string to_rfc3339(Time time);

// The inverse, with Z or an offset like +02:00; the fraction may be missing and has at most six digits.
std::optional<Time> parse_rfc3339(std::string_view text);

// One line for people: control characters, line breaks included, become spaces.
std::string one_line(std::string_view text);

// The shortest of "250ms", "10s", "5m", "2h", "7d" that is exact.
std::string to_text(Duration duration);

}  // namespace outbox
