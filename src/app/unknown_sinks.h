// Sinks that the database knows and the configuration does not: a sink's name is its identity.
#pragma once

#include <set>
#include <string>

#include "app/database.h"
#include "config/settings.h"

namespace outbox::app {

// Those that have a position or parked deliveries.
Result<std::set<std::string>> unknown_sinks(const config::Settings& settings, const Database& database);

// `invalid` if deliveries wait for a sink that is not configured (any more), or rows of the outbox table are not passed
// by its position: nobody would ever send them. Of the rows none may have been for it: its routes are gone, so nobody
// can tell.
Result<void> refuse_unknown_sinks(const config::Settings& settings, const Database& database);

// The name of a living relay that works for the sink, or empty.
Result<std::string> relay_of_sink(const config::Settings& settings, const Database& database, const std::string& sink);

}  // namespace outbox::app
