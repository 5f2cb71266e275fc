// Between the words of the public library and the relay's own.
#pragma once

#include "base/result.h"
#include "model/outcome.h"
#include "outbox/message_sink.h"
#include "sink/sink.h"

namespace outbox {

// Fails `invalid` where the row's headers are no headers.
Result<OutboundMessage> to_message(const Publication& publication);

// What the user says, made fit to be stored and shown.
Outcome to_outcome(const DeliveryOutcome& said);

// Calls the sink, and turns what it returns or throws into an outcome. Blocks as long as the sink does.
Outcome outcome_of_call(MessageSink& sink, const Publication& publication);

}  // namespace outbox
