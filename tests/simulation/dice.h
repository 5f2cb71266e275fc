// Dice: all chance of one run, from one seed, the same on every machine.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "base/time.h"

namespace outbox::sim {

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : random_(seed) {}

  std::uint64_t next() { return random_(); }
  // Both ends included.
  int between(int low, int high) {
    return low + static_cast<int>(random_() % static_cast<std::uint64_t>(high - low + 1));
  }
  Duration between(Duration low, Duration high) {
    return low + Duration(random_() % static_cast<std::uint64_t>((high - low).count() + 1));
  }
  bool chance(double probability) { return static_cast<double>(random_() >> 11) * 0x1.0p-53 < probability; }
  template <class T>
  const T& pick(const std::vector<T>& from) {
    return from[static_cast<std::size_t>(between(0, static_cast<int>(from.size()) - 1))];
  }

 private:
  std::mt19937_64 random_;
};

}  // namespace outbox::sim
