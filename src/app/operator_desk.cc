#include "app/operator_desk.h"

#include <fmt/format.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "app/settings_file.h"
#include "base/text.h"
#include "config/units.h"

namespace outbox::app {

namespace {

std::string user_name() {
  if (const char* caller = std::getenv("SUDO_USER"); caller != nullptr && *caller != '\0') return caller;
  const passwd* entry = ::getpwuid(::getuid());
  return entry == nullptr ? std::to_string(::getuid()) : entry->pw_name;
}

std::string host_name() {
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) return "?";
  return host.data();
}

// A sink that is not configured any more may have left deliveries.
Result<void> check_known_sink(const OperatorDesk& desk, const std::string& sink) {
  if (sink.empty()) return {};
  auto configured = check_sink(desk.settings, sink);
  if (configured) return configured;
  const auto holdings = desk.store->holdings(sink);
  if (!holdings) return holdings.failure();
  const bool known = holdings->position || holdings->waiting + holdings->dead + holdings->finished > 0;
  return known ? Result<void>() : configured;
}

}  // namespace

std::variant<OperatorDesk, int> open_desk(const ConfigFlags& flags) {
  auto settings = load_settings(flags);
  if (!settings) return kUsage;
  auto database = Database::inspect(*settings);
  if (!database) return report(database.failure());
  auto store = database->make_operator();
  return OperatorDesk{*std::move(settings), *std::move(database), std::move(store)};
}

Result<DeliveryFilter> make_filter(const FilterFlags& flags, const OperatorDesk& desk) {
  if (auto known = check_known_sink(desk, flags.sink); !known) return known.failure();
  if (!flags.key.empty() && flags.key.find(':') == std::string::npos) {
    return Failure{FailureKind::invalid,
                   fmt::format("--key '{}': write the aggregate type, too, as in order:4711", flags.key)};
  }
  DeliveryFilter filter{flags.ids, flags.sink, flags.key, flags.type, flags.owner, flags.died_of, std::nullopt};
  if (flags.since.empty()) return filter;
  filter.since = parse_rfc3339(flags.since);
  if (filter.since) return filter;
  const auto ago = config::parse_duration(flags.since);
  if (!ago) {
    return Failure{
        FailureKind::invalid,
        fmt::format("--since '{}': write how long ago, like 90m, or a time like 2026-01-31T09:30:00Z", flags.since)};
  }
  const auto now = desk.store->now();
  if (!now) return now.failure();
  filter.since = *now - *ago;
  return filter;
}

Act make_act(const ActFlags& flags) {
  return {flags.actor.empty() ? user_name() + "@" + host_name() : flags.actor, flags.reason};
}

std::vector<RouteFilter> route_filters(const config::Settings& settings) {
  std::vector<RouteFilter> routes;
  for (const config::RouteSettings& route : settings.routes) {
    if (route.sink != "none") routes.push_back({route.sink, route.aggregate_type, route.type});
  }
  return routes;
}

Result<void> check_sink(const config::Settings& settings, const std::string& sink) {
  std::vector<std::string> names;
  for (const config::SinkSettings& each : settings.sinks) names.push_back(each.name);
  if (std::find(names.begin(), names.end(), sink) != names.end()) return {};
  const std::string guess = nearest(sink, names);
  return Failure{FailureKind::invalid,
                 fmt::format("the configuration has no sink '{}'; {}", sink,
                             guess.empty() ? "it has " + join(names, ", ") : "did you mean '" + guess + "'?")};
}

}  // namespace outbox::app
