// The http sink: one request per message, many keys at once (docs: interface "On the wire", "HTTP answers").
#pragma once

#include "sink/sink_type.h"

namespace outbox {

SinkType http_sink();

}  // namespace outbox
