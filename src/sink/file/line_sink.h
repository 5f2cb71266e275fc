// LineSink: a Sink over LineOutputs, one per destination. One thread of its own writes what has been published as one
// batch, all or nothing over all its destinations: lines first, then one sync each, then the confirmations.
//
// Order per key: after a batch that failed, its keys are shut until the relay has taken note (sink/file/shut_keys.h).
// The sink is dead (client_dead) until reopen() only where messages failed for no fault of their own: those that shared
// a batch with another destination that could not be written.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "sink/file/line_output.h"
#include "sink/sink.h"

namespace outbox::file {

// Makes the output of a destination. Called by the sink's thread, or by the one that calls open() (before it).
using OpenOutput = std::function<std::unique_ptr<LineOutput>(const std::string& destination, const Waker& stop)>;

std::unique_ptr<Sink> make_line_sink(OpenOutput open_output);

}  // namespace outbox::file
