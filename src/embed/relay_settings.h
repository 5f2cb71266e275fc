// The settings of an embedded relay: what `outboxd run` reads from its file comes from the program here. Pure
// functions.
#pragma once

#include <string>

#include "base/result.h"
#include "config/settings.h"
#include "outbox/relay.h"

namespace outbox {

// `invalid` if an option makes no sense.
Result<config::Settings> embedded_settings(const RelayOptions& options);

// Adds the sink and its route. `invalid` if an option makes no sense or the name is taken.
Result<void> add_embedded_sink(config::Settings& settings, const std::string& name, const MessageSinkOptions& options);

}  // namespace outbox
