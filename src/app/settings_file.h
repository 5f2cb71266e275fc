// Finding and loading the settings for a command, and saying what is wrong with them.
#pragma once

#include "app/cli.h"
#include "base/result.h"
#include "config/settings.h"

namespace outbox::app {

// The whole file: --config, else OUTBOX_CONFIG, else outboxd.yaml. Complaints go to standard error, a line each;
// nullopt: there was an error among them, exit with kUsage.
std::optional<config::Settings> load_settings(const ConfigFlags& flags);

// For commands that need no more than the database: with --database (or OUTBOX_DATABASE) and no file, that is enough.
std::optional<config::Settings> load_database_settings(const ConfigFlags& flags);

// "1 sink, 2 routes".
std::string summary(const config::Settings& settings);

// Prints "outboxd: WHAT" as one line on standard error and returns the exit code that fits.
int report(const Failure& failure);

}  // namespace outbox::app
