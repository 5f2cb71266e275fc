// The only list of concrete sinks. A new sink is one folder in src/sink and one line in registry.cc.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "config/load.h"
#include "sink/sink_type.h"

namespace outbox::app {

std::span<const SinkType> sink_types();

// The same, as configuration wants to see it.
std::span<const config::SinkKind> sink_kinds();

// `name` is one of the registry's: loading has seen to it. The same goes for the settings' type below.
const SinkType& sink_type(const std::string& name);
Result<std::unique_ptr<Sink>> make_sink(const config::SinkSettings& settings);

}  // namespace outbox::app
