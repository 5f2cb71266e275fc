// The only list of concrete sinks. A new sink is one folder in src/sink and one line in registry.cc.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "app/runner_factory.h"
#include "base/result.h"
#include "config/load.h"
#include "sink/sink_type.h"

namespace outbox::app {

std::span<const SinkType> sink_types();

// The same, as configuration wants to see it.
std::span<const config::SinkKind> sink_kinds();

// The part of the settings that the daemon delivers: without the sinks of programs that embed a relay, whose messages
// it passes over. `invalid` if nothing is left.
Result<config::Settings> served_here(const config::Settings& settings);

// Asks whether the sink's far side is there (SinkType::reach), and says what was found.
Result<std::string> reach_sink(const config::SinkSettings& sink);

// Makes them. A type that is none of the registry's is a broken invariant: loading has seen to it.
SinkMaker registered_sinks();

}  // namespace outbox::app
