// The RabbitMQ sink (interface: "On the wire"): a message is confirmed when every durable queue that it was routed to
// has stored it; one that no queue takes is a failure of its destination.
#pragma once

#include "sink/sink_type.h"

namespace outbox {

SinkType rabbitmq_sink();

}  // namespace outbox
