// Lanes: the parts into which the keys are cut so that several relays can divide the work. The lane of a key is
// computed by the database, as the first two bytes of md5(key), big-endian, modulo kLanes
// (sql/postgresql/0001_outbox.up.sql).
#pragma once

#include <compare>
#include <string>

namespace outbox {

inline constexpr int kLanes = 64;

// A contiguous range, both ends included.
struct Lanes {
  int first = 0;
  int last = kLanes - 1;

  int size() const { return last - first + 1; }
  bool all() const { return first == 0 && last == kLanes - 1; }
  auto operator<=>(const Lanes&) const = default;
};

inline std::string to_string(const Lanes& lanes) {
  return std::to_string(lanes.first) + "-" + std::to_string(lanes.last);
}

}  // namespace outbox
