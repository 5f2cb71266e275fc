// UUIDs as text (36 characters) and as 16 bytes.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace outbox::client {

using Uuid = std::array<std::uint8_t, 16>;

// Only the usual form, 8-4-4-4-12 hexadecimal digits in either case.
std::optional<Uuid> parse_uuid(std::string_view text);

// In lower case.
std::string uuid_text(const Uuid& uuid);

}  // namespace outbox::client
