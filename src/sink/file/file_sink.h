// The file and stdout sinks: one JSON object a line (sink/file/json_line.h), confirmed once the lines are on disk.
#pragma once

#include "sink/sink_type.h"

namespace outbox {

SinkType file_sink();
SinkType stdout_sink();

}  // namespace outbox
