// ListenAddress: "127.0.0.1:9480", "localhost:9480" or "[::1]:9480". Port 0 takes any free port.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace outbox {

struct ListenAddress {
  std::string host;  // without brackets
  std::uint16_t port = 0;
};

Result<ListenAddress> parse_listen_address(std::string_view text);

// 127.0.0.0/8, ::1 and localhost, by the letters: nothing is resolved.
bool is_loopback(const std::string& host);

}  // namespace outbox
