#include "app/unknown_sinks.h"

#include <fmt/format.h>

#include <algorithm>

#include "admin/sink_report.h"
#include "app/status_report.h"
#include "base/log.h"

namespace outbox::app {

namespace {

// "3 deliveries wait for it and its position has not passed 10000 or more rows"; empty: nothing would be lost.
std::string owed(const SinkHoldings& holdings) {
  std::string text;
  if (holdings.waiting > 0)
    text = fmt::format("{} {} for it", holdings.waiting, holdings.waiting == 1 ? "delivery waits" : "deliveries wait");
  if (holdings.unsent == 0) return text;
  return fmt::format("{}{}its position has not passed {}{} of the outbox table", text, text.empty() ? "" : ", and ",
                     holdings.unsent,
                     holdings.unsent_is_capped ? " or more rows"
                     : holdings.unsent == 1    ? " row"
                                               : " rows");
}

}  // namespace

Result<std::set<std::string>> unknown_sinks(const config::Settings& settings, const Database& database) {
  const auto status = database.make_store()->status(database.feeds(settings));
  if (!status) return status.failure();
  std::set<std::string> names;
  for (const auto& [name, sink] : status->sinks) names.insert(name);
  for (const ShareStatus& share : status->shares) names.insert(share.feed);
  for (const config::SinkSettings& sink : settings.sinks) names.erase(sink.name);
  std::erase_if(names, [](const std::string& name) { return name.starts_with('*'); });  // feeds, and no sink's
  return names;
}

Result<void> refuse_unknown_sinks(const config::Settings& settings, const Database& database) {
  const auto unknown = unknown_sinks(settings, database);
  if (!unknown) return {};  // the relay meets the same failure next, and knows whether to wait
  const auto store = database.make_operator();
  for (const std::string& name : *unknown) {
    const auto holdings = store->holdings(name);
    if (!holdings) return {};
    const std::string what = owed(*holdings);
    if (what.empty() && holdings->position) {
      log::warn(
          "a sink that the configuration does not name has a position: from the next message on it is owed, and "
          "the next start refused; if it is gone for good, outboxd sink forget",
          {{"sink", name}});
    }
    if (what.empty() && holdings->dead > 0) {
      log::warn("dead letters of a sink that the configuration does not name",
                {{"sink", name}, {"dead", std::to_string(holdings->dead)}});
    }
    if (what.empty()) continue;
    return Failure{FailureKind::invalid,
                   fmt::format("the configuration does not name the sink '{}' (any more): {}. Name it again, to have "
                               "them sent; if they are not to be sent, run `outboxd sink forget {} --yes --reason WHY`",
                               name, what, name)};
  }
  return {};
}

Result<std::string> relay_of_sink(const config::Settings& settings, const Database& database, const std::string& sink) {
  const auto status = database.make_store()->status(database.feeds(settings));
  if (!status) return status.failure();
  for (const RelayStatus& relay : status->relays) {
    if (!is_alive(relay, status->database_now)) continue;
    const auto reports = parse_sink_reports(relay.sinks_json);
    if (!reports) continue;  // one that has said nothing yet
    if (std::any_of(reports->begin(), reports->end(), [&](const SinkReport& each) { return each.sink == sink; })) {
      return relay.name;
    }
  }
  return std::string();
}

}  // namespace outbox::app
