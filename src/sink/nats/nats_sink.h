// The NATS sink (interface: "On the wire"): messages into JetStream streams, by their subjects.
#pragma once

#include "sink/sink_type.h"

namespace outbox {

SinkType nats_sink();

}  // namespace outbox
