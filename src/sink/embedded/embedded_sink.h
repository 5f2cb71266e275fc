// A sink of a program that embeds the relay (include/outbox/relay.h), named in a configuration so that outboxd's
// commands know it. outboxd itself delivers nothing to it.
#pragma once

#include "sink/sink_type.h"

namespace outbox {

SinkType embedded_sink();

}  // namespace outbox
