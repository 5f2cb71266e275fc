// What a stream's answer to a message means.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "model/outcome.h"

namespace outbox::nats {

struct Answer {
  DeliveryId id = 0;
  Outcome outcome;
};

// `json` is the body of the answer: {"stream":…,"seq":…,"duplicate":…} or {"error":{"code":…,"err_code":…,…}}. Where
// the stream had a message of this Nats-Msg-Id already and dropped this one, it is delivered with the reason
// "duplicate".
Answer read_answer(DeliveryId id, std::string_view json);

// Nobody listens to the subject: 503, no responders.
Answer no_stream(DeliveryId id);

// JetStream refused a message; `error` is its own number, 10000 and up.
Outcome outcome_of(int error, std::string_view description);

// The subject in "Permissions Violation for Publish to "orders.x""; empty if it is about something else.
std::string denied_subject(std::string_view server_error);

}  // namespace outbox::nats
