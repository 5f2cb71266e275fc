// Where a message goes: an exchange and a routing key. The relay knows both as one text, "exchange/routing key", in
// which a '%' or '/' of either part is percent-encoded; "/orders" is the default exchange and so the queue `orders`.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "model/outcome.h"

namespace outbox::rabbitmq {

// A short string of the protocol: exchange, routing key, message id and type are such.
inline constexpr std::size_t kShortStringMax = 255;

struct Address {
  std::string exchange;
  std::string routing_key;
};

// nullopt if the text is no address.
std::optional<Address> parse_address(std::string_view destination);

// What is wrong with an address that the protocol cannot carry: rejected, or nullopt.
std::optional<Outcome> refuse_address(const Address& address);

// A field's value as it may stand in either part.
std::string escape_field(std::string_view value);

// The address template of two templates; their {fields} stay as they are.
std::string join_templates(std::string_view exchange, std::string_view routing_key);

}  // namespace outbox::rabbitmq
