#include "sink/http/address_rules.h"

#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

namespace outbox::http {
namespace {

struct Range4 {
  std::array<std::uint8_t, 4> start;
  int bits;
};

struct Range6 {
  std::array<std::uint16_t, 8> start;
  int bits;
};

// IANA's special-purpose registries; 255.255.255.255 lies in 240/4.
constexpr Range4 kRanges4[] = {
    {{0, 0, 0, 0}, 8},      {{10, 0, 0, 0}, 8},     {{100, 64, 0, 0}, 10}, {{127, 0, 0, 0}, 8},
    {{169, 254, 0, 0}, 16}, {{172, 16, 0, 0}, 12},  {{192, 0, 0, 0}, 24},  {{192, 0, 2, 0}, 24},
    {{192, 88, 99, 0}, 24}, {{192, 168, 0, 0}, 16}, {{198, 18, 0, 0}, 15}, {{198, 51, 100, 0}, 24},
    {{203, 0, 113, 0}, 24}, {{224, 0, 0, 0}, 4},    {{240, 0, 0, 0}, 4},
};

constexpr Range6 kRanges6[] = {
    {{0, 0, 0, 0, 0, 0, 0, 0}, 96},           // ::, ::1, IPv4-compatible
    {{0, 0, 0, 0, 0xffff, 0, 0, 0}, 96},      // IPv4-translated
    {{0x64, 0xff9b, 0, 0, 0, 0, 0, 0}, 96},   // NAT64
    {{0x64, 0xff9b, 1, 0, 0, 0, 0, 0}, 48},   // local NAT64
    {{0x100, 0, 0, 0, 0, 0, 0, 0}, 64},       // discard
    {{0x2001, 0, 0, 0, 0, 0, 0, 0}, 32},      // Teredo
    {{0x2001, 0xdb8, 0, 0, 0, 0, 0, 0}, 32},  // documentation
    {{0x2002, 0, 0, 0, 0, 0, 0, 0}, 16},      // 6to4
    {{0x3fff, 0, 0, 0, 0, 0, 0, 0}, 20},      // documentation
    {{0x5f00, 0, 0, 0, 0, 0, 0, 0}, 16},      // segment routing
    {{0xfc00, 0, 0, 0, 0, 0, 0, 0}, 7},       // unique local
    {{0xfe80, 0, 0, 0, 0, 0, 0, 0}, 10},      // link-local
    {{0xfec0, 0, 0, 0, 0, 0, 0, 0}, 10},      // site-local
    {{0xff00, 0, 0, 0, 0, 0, 0, 0}, 8},       // multicast
};

bool same_start(const std::uint8_t* a, const std::uint8_t* b, int bits) {
  const int whole = bits / 8;
  if (std::memcmp(a, b, static_cast<std::size_t>(whole)) != 0) return false;
  const int rest = bits % 8;
  return rest == 0 || (a[whole] ^ b[whole]) >> (8 - rest) == 0;
}

bool private4(const std::uint8_t* address) {
  return std::ranges::any_of(kRanges4,
                             [&](const Range4& range) { return same_start(address, range.start.data(), range.bits); });
}

bool private6(const std::uint8_t* address) {
  static constexpr std::uint8_t kMapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  if (std::memcmp(address, kMapped, sizeof kMapped) == 0) return private4(address + sizeof kMapped);
  return std::ranges::any_of(kRanges6, [&](const Range6& range) {
    std::array<std::uint8_t, 16> start{};
    for (std::size_t i = 0; i < 8; ++i) {
      start[2 * i] = static_cast<std::uint8_t>(range.start[i] >> 8);
      start[2 * i + 1] = static_cast<std::uint8_t>(range.start[i] & 0xff);
    }
    return same_start(address, start.data(), range.bits);
  });
}

}  // namespace

bool private_address(const sockaddr& address) {
  if (address.sa_family == AF_INET) {
    sockaddr_in in{};
    std::memcpy(&in, &address, sizeof in);
    return private4(reinterpret_cast<const std::uint8_t*>(&in.sin_addr));
  }
  if (address.sa_family == AF_INET6) {
    sockaddr_in6 in{};
    std::memcpy(&in, &address, sizeof in);
    return private6(in.sin6_addr.s6_addr);
  }
  return true;
}

}  // namespace outbox::http
