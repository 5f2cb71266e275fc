// Everything about messages that can be judged without a database.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "client/uuid.h"
#include "outbox/enqueue.h"
#include "outbox/message.h"

namespace outbox::client {

struct CheckedMessage {
  const Message* message = nullptr;  // the caller's
  Uuid id{};                         // the message's, or a new one
  std::string headers;               // a JSON object; repeated headers are an array
  std::string jsonb_defect;          // why a jsonb column would not take the payload; empty: it would
};

// Throws an Error that poisons nothing for the first message that cannot be stored.
std::vector<CheckedMessage> check_messages(std::span<const Message> messages, const EnqueueOptions& options);

// "message 2 of 3", for errors; "message" where there is only one.
std::string message_label(std::size_t index, std::size_t count);

// Throws an Error that poisons nothing and that a repetition does not mend.
[[noreturn]] void refuse(const std::string& what);

}  // namespace outbox::client
