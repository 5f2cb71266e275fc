// What the operator's commands (list, show, requeue, discard, pause, resume, sink forget) begin with.
#pragma once

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "app/cli.h"
#include "app/database.h"
#include "config/settings.h"
#include "store/operator_store.h"

namespace outbox::app {

struct OperatorDesk {
  config::Settings settings;
  Database database;
  std::unique_ptr<OperatorStore> store;
};

// Loads the settings and looks at the table. An int is the exit code: what was wrong has been printed.
std::variant<OperatorDesk, int> open_desk(const ConfigFlags& flags);

// "--since 1h" is by the database's clock. `invalid` for a sink that neither the configuration nor the database knows,
// and for a key that can be none.
Result<DeliveryFilter> make_filter(const FilterFlags& flags, const OperatorDesk& desk);

// The actor is --actor, else user@host (behind sudo the user who called it).
Act make_act(const ActFlags& flags);

std::vector<RouteFilter> route_filters(const config::Settings& settings);

// `invalid` for a name that the configuration does not have.
Result<void> check_sink(const config::Settings& settings, const std::string& sink);

}  // namespace outbox::app
