// What may be the subject of a message.
//
// A subject is one word on the protocol's line: a blank in it would shift what follows, a line break would begin
// another command. Dots separate tokens. Those of a field count as well: type "order.placed" makes two tokens of
// {type}, as a subscriber to "orders.order.placed" expects. What is refused is what would make a message go elsewhere:
// wildcards, empty tokens (an empty field makes one), and the server's own subjects, which begin with $ or _INBOX.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace outbox::nats {

// The server ends the connection at a protocol line of 4 KiB, its default; beside the subject there are the reply
// subject and two sizes on it.
inline constexpr std::size_t kSubjectMax = 2'048;

// nullopt if the subject may be published to, otherwise why not.
std::optional<std::string> subject_problem(std::string_view subject);

// `invalid` if an address template could never be published to.
Result<void> check_subject_template(std::string_view address);

}  // namespace outbox::nats
