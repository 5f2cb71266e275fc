#include "app/unknown_sinks.h"

#include <fmt/format.h>

#include <algorithm>

#include "admin/sink_report.h"
#include "app/status_report.h"

namespace outbox::app {

Result<void> refuse_unknown_sinks(const config::Settings& settings, const Database& database) {
  const auto status = database.make_store()->status(database.feeds(settings));
  if (!status) return {};  // the relay meets the same failure next, and knows whether to wait
  for (const auto& [name, sink] : status->sinks) {
    const bool configured = std::any_of(settings.sinks.begin(), settings.sinks.end(),
                                        [&name = name](const auto& each) { return each.name == name; });
    if (configured || sink.parked.waiting == 0) continue;
    return Failure{FailureKind::invalid,
                   fmt::format("{} deliveries wait for the sink '{}', which the configuration does not name (any "
                               "more): name it again, or run `outboxd sink forget {}`",
                               sink.parked.waiting, name, name)};
  }
  return {};
}

Result<std::string> relay_of_sink(const config::Settings& settings, const Database& database, const std::string& sink) {
  const auto status = database.make_store()->status(database.feeds(settings));
  if (!status) return status.failure();
  for (const RelayStatus& relay : status->relays) {
    if (relay.stopped || status->database_now - relay.seen_at >= kRelaySilent) continue;
    const auto reports = parse_sink_reports(relay.sinks_json);
    if (!reports) continue;  // one that has said nothing yet
    if (std::any_of(reports->begin(), reports->end(), [&](const SinkReport& each) { return each.sink == sink; })) {
      return relay.name;
    }
  }
  return std::string();
}

}  // namespace outbox::app
