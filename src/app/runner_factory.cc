#include "app/runner_factory.h"

#include <algorithm>

namespace outbox::app {

const config::SinkSettings& sink_settings(const config::Settings& settings, const std::string& name) {
  const auto found = std::find_if(settings.sinks.begin(), settings.sinks.end(),
                                  [&](const config::SinkSettings& sink) { return sink.name == name; });
  OUTBOX_ASSERT(found != settings.sinks.end());
  return *found;
}

RetryPolicy retry_policy(const config::RetrySettings& settings) {
  return {settings.base, settings.cap, static_cast<int>(settings.attempts), settings.age};
}

namespace {

std::shared_ptr<const Router> make_router(const config::Settings& settings, const SinkMaker& sinks) {
  std::vector<Route> routes;
  for (const config::RouteSettings& each : settings.routes) {
    Route route;
    route.sink = each.sink;
    route.aggregate_type = each.aggregate_type;
    route.type = each.type;
    route.address = each.address;
    if (each.sink != "none") route.escape = sinks.escape(sink_settings(settings, each.sink));
    route.owner = each.owner;
    if (each.retry) route.retry = retry_policy(*each.retry);
    route.dead_letter_holds_key = each.dead_letter_holds_key;
    routes.push_back(std::move(route));
  }
  return std::make_shared<const Router>(std::move(routes));
}

}  // namespace

RunnerFactory::RunnerFactory(const RelayParts& parts)
    : parts_(parts), feeds_(parts.database.feeds(parts.settings)), router_(make_router(parts.settings, parts.sinks)) {}

Result<bool> can_be_divided(const Feed& feed, const config::Settings& settings, const Database& database,
                            const SinkMaker& sinks) {
  bool divisible = database.divisible();
  for (const std::string& name : feed.sinks) {
    auto sink = sinks.make(sink_settings(settings, name));
    if (!sink) return sink.failure();
    if ((*sink)->capabilities().one_writer) divisible = false;
  }
  return divisible;
}

Result<std::unique_ptr<Runner>> RunnerFactory::make(const Feed& feed, const Lanes& lanes, const std::string& relay,
                                                    std::shared_ptr<const Lease> lease, std::function<void()> on_end) {
  CoreOptions core;
  core.feed = feed;
  core.feed.lanes = lanes;
  core.takes_unrouted = feed.name == feeds_.front().name;
  auto access = parts_.database.make_feed_access(lanes);
  FeedParts parts{std::move(access.source), std::move(access.store), {}};
  core.source_repeats = parts.source->repeats();
  for (const std::string& name : feed.sinks) {
    const config::SinkSettings& each = sink_settings(parts_.settings, name);
    auto sink = parts_.sinks.make(each);
    if (!sink) return sink.failure();
    core.sinks.push_back(
        {name,
         (*sink)->capabilities(),
         retry_policy(each.retry),
         {static_cast<int>(each.breaker.failures), each.breaker.open, each.breaker.cap},
         static_cast<std::size_t>(each.parked_max),
         {static_cast<int>(each.retry.budget_percent), static_cast<int>(each.retry.budget_per_second)}});
    parts.sinks.push_back(*std::move(sink));
  }
  RunnerOptions options{relay, parts_.settings.drain_timeout, entropy_(), std::move(lease), std::move(on_end)};
  return std::make_unique<Runner>(core, router_, std::move(parts), std::move(options), parts_.observer);
}

}  // namespace outbox::app
