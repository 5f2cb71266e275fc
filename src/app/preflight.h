// Preflight: what `outboxd check` looks at, in the order in which a relay would meet it. It makes nothing, and hands
// nothing to a sink; on SQLite tables of an older version are brought up to date, as by every command.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "config/settings.h"

namespace outbox::app {

enum class Grade {
  ok,
  note,   // works; what it cannot promise, or will cost, and what would change that
  wrong,  // a relay does not start with it, or will stand still
};

struct Finding {
  Grade grade = Grade::ok;
  std::string subject;  // "database", "sink events"
  std::string what;     // with the statement or command that mends it
  bool out_of_reach = false;
};

// `settings` as the file has them. Ends early where nothing further can be asked: the database is away, or has no such
// table. Blocks for some round trips, and a few seconds for each sink that does not answer.
std::vector<Finding> preflight(const config::Settings& settings);

// A line each.
std::string preflight_text(const std::vector<Finding>& findings);
std::string preflight_json(const std::vector<Finding>& findings);

// kAnswerIsNo for something wrong; kOutOfReach where that is only what did not answer.
int preflight_exit_code(const std::vector<Finding>& findings);

}  // namespace outbox::app
