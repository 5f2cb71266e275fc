#include "sink/http/header_rules.h"

#include <algorithm>
#include <array>

#include "model/headers.h"

namespace outbox::http {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool token_character(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
         (c != '\0' && std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos);
}

}  // namespace

bool header_name(std::string_view name) { return !name.empty() && std::ranges::all_of(name, token_character); }

bool header_value(std::string_view value) {
  return std::ranges::all_of(value, [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return c == '\t' || (byte >= 0x20 && byte != 0x7f);
  });
}

bool same_header(std::string_view a, std::string_view b) { return std::ranges::equal(a, b, {}, lower, lower); }

bool set_by_sink(std::string_view name) {
  static constexpr std::array<std::string_view, 10> kNames{
      "idempotency-key", "outbox-attempt", "expect",     "keep-alive",     "proxy-connection", "te",
      "trailer",         "upgrade",        "user-agent", "accept-encoding"};
  if (same_header(name, "authorization")) return false;
  return reserved_header(name) ||
         std::ranges::any_of(kNames, [&](std::string_view each) { return same_header(name, each); });
}

}  // namespace outbox::http
