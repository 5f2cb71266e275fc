// SinkType: what the registry (app/registry.cc) knows of a kind of sink. A new sink is one folder with one of these,
// and one line there.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "config/options.h"
#include "sink/sink.h"

namespace outbox {

struct SinkType {
  std::string_view name;            // "kafka", as in `type: kafka`
  std::string_view summary;         // one line for the reference page
  config::OptionTable options;      // the sink's own options; type, retry and breaker are common to all
  std::string_view address_option;  // the route option that names the destination: "topic"; "" if the sink has one only
  // The address template of a route that names none, from the sink's options: "outbox.event.{aggregate_type}".
  std::string (*default_address)(const config::Values& options);
  // Fails on what can be known without a connection. `name` is the sink's name in the configuration, for messages.
  // null: programs that embed the relay deliver to it, and the daemon leaves it alone.
  Result<std::unique_ptr<Sink>> (*create)(std::string_view name, const config::Values& options);
  // How a field's value is written into an address, so that no message changes the address around it; null: as it is.
  std::string (*escape_field)(std::string_view value) = nullptr;
  // Fails on an address template that could never be sent to, or that lets the message choose where to; null: any goes.
  Result<void> (*check_address)(std::string_view address) = nullptr;
  // All that is wrong with single options and can be known without a connection, for one list of errors with their
  // lines; `create` refuses the same. An option that could not be read is missing here. null: any goes.
  std::vector<config::OptionProblem> (*check_options)(const config::Values& options) = nullptr;
  // Connects and logs in as the sink would, hands nothing over, and goes away; says whom it reached. `refused`: there
  // is somebody, who does not let it in; `unavailable`: in no more than about ten seconds it reached nobody. null:
  // there is nobody to reach.
  Result<std::string> (*reach)(std::string_view name, const config::Values& options) = nullptr;
  // For addresses of two parts: the second route option ("routing_key"), and the address template of a route that gives
  // either; what it does not give comes from the sink's options.
  std::string_view second_address_option = {};
  std::string (*route_address)(const config::Values& options, const config::Values& route) = nullptr;
};

}  // namespace outbox
