// CalledSink: a MessageSink of the user's as the relay knows sinks. One for each runner; they share the pool.
#pragma once

#include <memory>

#include "embed/call_pool.h"
#include "sink/sink.h"

namespace outbox {

std::unique_ptr<Sink> make_called_sink(std::shared_ptr<CallPool> pool);

}  // namespace outbox
