#include "base/listen_address.h"

#include <arpa/inet.h>

#include <charconv>

namespace outbox {

Result<ListenAddress> parse_listen_address(std::string_view text) {
  const auto bad = [&] {
    return Failure{FailureKind::invalid, "'" + std::string(text) + "' is not host:port; write it like 127.0.0.1:9480"};
  };
  const auto colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return bad();
  std::string_view host = text.substr(0, colon);
  const std::string_view port_text = text.substr(colon + 1);
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string_view::npos) {
    return bad();
  }
  ListenAddress address{std::string(host), 0};
  const auto [end, error] = std::from_chars(port_text.data(), port_text.data() + port_text.size(), address.port);
  if (host.empty() || error != std::errc() || end != port_text.data() + port_text.size()) return bad();
  return address;
}

bool is_loopback(const std::string& host) {
  in_addr v4{};
  if (inet_pton(AF_INET, host.c_str(), &v4) == 1) return (ntohl(v4.s_addr) >> 24) == 127;
  in6_addr v6{};
  if (inet_pton(AF_INET6, host.c_str(), &v6) == 1) return IN6_IS_ADDR_LOOPBACK(&v6);
  return host == "localhost";
}

}  // namespace outbox
