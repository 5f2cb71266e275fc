#include "sink/rabbitmq/address.h"

#include <fmt/core.h>

#include <charconv>

namespace outbox::rabbitmq {
namespace {

void append_escaped(std::string& text, char c) {
  if (c == '%') {
    text += "%25";
  } else if (c == '/') {
    text += "%2F";
  } else {
    text += c;
  }
}

std::string escape_template(std::string_view text) {
  std::string escaped;
  bool in_field = false;
  for (const char c : text) {
    if (c == '{') in_field = true;
    if (c == '}') in_field = false;
    in_field ? escaped.append(1, c) : (append_escaped(escaped, c), escaped);
  }
  return escaped;
}

std::optional<std::string> unescape(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      plain += text[i];
      continue;
    }
    unsigned value = 0;
    const char* digits = text.data() + i + 1;
    if (i + 2 >= text.size() || std::from_chars(digits, digits + 2, value, 16).ptr != digits + 2) return std::nullopt;
    plain += static_cast<char>(value);
    i += 2;
  }
  return plain;
}

Outcome too_long(std::string_view reason, std::string_view what, std::size_t size) {
  return rejected(std::string(reason), fmt::format("the {} has {} bytes, AMQP allows {}", what, size, kShortStringMax));
}

}  // namespace

std::optional<Address> parse_address(std::string_view destination) {
  const auto slash = destination.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  auto exchange = unescape(destination.substr(0, slash));
  auto routing_key = unescape(destination.substr(slash + 1));
  if (!exchange || !routing_key) return std::nullopt;
  return Address{std::move(*exchange), std::move(*routing_key)};
}

std::optional<Outcome> refuse_address(const Address& address) {
  if (address.exchange.size() > kShortStringMax) {
    return too_long("exchange_too_long", "exchange name", address.exchange.size());
  }
  if (address.routing_key.size() > kShortStringMax) {
    return too_long("routing_key_too_long", "routing key", address.routing_key.size());
  }
  return std::nullopt;
}

std::string escape_field(std::string_view value) {
  std::string escaped;
  for (const char c : value) append_escaped(escaped, c);
  return escaped;
}

std::string join_templates(std::string_view exchange, std::string_view routing_key) {
  return escape_template(exchange) + "/" + escape_template(routing_key);
}

}  // namespace outbox::rabbitmq
