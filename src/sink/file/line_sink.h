// LineSink: a Sink over LineOutputs, one per destination. One thread of its own writes what has been published as one
// batch, all or nothing over all its destinations: lines first, then one sync each, then the confirmations.
//
// Order per key: after a batch that failed the sink is dead (client_dead) until reopen(), so that nothing overtakes
// what failed, even what the relay publishes before it has heard of the failure.
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
