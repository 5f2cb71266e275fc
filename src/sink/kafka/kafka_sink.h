// The Kafka sink (interface: "On the wire"). Key = aggregate id, value = payload bytes, timestamp = created_at.
#pragma once

#include "sink/sink_type.h"

namespace outbox {

SinkType kafka_sink();

}  // namespace outbox
