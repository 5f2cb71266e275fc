#include "app/relay_service.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <random>

#include "app/registry.h"

namespace outbox::app {

namespace {

RetryPolicy policy(const config::RetrySettings& settings) {
  return {settings.base, settings.cap, static_cast<int>(settings.attempts)};
}

const config::SinkSettings& sink_settings(const config::Settings& settings, const std::string& name) {
  const auto found = std::find_if(settings.sinks.begin(), settings.sinks.end(),
                                  [&](const config::SinkSettings& sink) { return sink.name == name; });
  OUTBOX_ASSERT(found != settings.sinks.end());
  return *found;
}

std::shared_ptr<const Router> make_router(const config::Settings& settings) {
  std::vector<Route> routes;
  for (const config::RouteSettings& each : settings.routes) {
    Route route;
    route.sink = each.sink;
    route.aggregate_type = each.aggregate_type;
    route.type = each.type;
    route.address = each.address;
    if (each.sink != "none") route.escape = sink_type(sink_settings(settings, each.sink).type).escape_field;
    route.owner = each.owner;
    if (each.retry) route.retry = policy(*each.retry);
    route.dead_letter_holds_key = each.dead_letter_holds_key;
    routes.push_back(std::move(route));
  }
  return std::make_shared<const Router>(std::move(routes));
}

Result<std::unique_ptr<Runner>> make_runner(const config::Settings& settings, const Database& database,
                                            const Feed& feed, bool takes_unrouted, RunnerOptions options,
                                            const std::shared_ptr<const Router>& router, RelayObserver& observer) {
  CoreOptions core;
  core.feed = feed;
  core.takes_unrouted = takes_unrouted;
  FeedParts parts{database.make_source(), database.make_store(), {}};
  core.source_repeats = parts.source->repeats();
  for (const std::string& name : feed.sinks) {
    const config::SinkSettings& each = sink_settings(settings, name);
    auto sink = make_sink(each);
    if (!sink) return sink.failure();
    core.sinks.push_back({name,
                          (*sink)->capabilities(),
                          policy(each.retry),
                          {static_cast<int>(each.breaker.failures), each.breaker.open, each.breaker.cap},
                          static_cast<std::size_t>(each.parked_max)});
    parts.sinks.push_back(*std::move(sink));
  }
  return std::make_unique<Runner>(core, router, std::move(parts), std::move(options), observer);
}

}  // namespace

Result<std::unique_ptr<RelayService>> RelayService::start(
    const config::Settings& settings, const Database& database, const std::string& relay, RelayObserver& observer,
    SinkReporter::LastFailure last_failure, std::function<void(const std::vector<StoreStatus>&)> on_status) {
  std::unique_ptr<RelayService> service(new RelayService());
  const auto router = make_router(settings);
  const std::vector<Feed> feeds = database.feeds(settings);
  std::random_device entropy;
  for (const Feed& feed : feeds) {
    RunnerOptions options{relay, settings.drain_timeout, entropy()};
    auto runner = make_runner(settings, database, feed, &feed == &feeds.front(), std::move(options), router, observer);
    if (!runner) return runner.failure();
    service->runners_.push_back(*std::move(runner));
  }
  for (auto& runner : service->runners_) {
    if (auto started = runner->start(); !started) return started.failure();
  }
  HousekeepingOptions options;
  options.relay = relay;
  options.feeds = feeds;
  options.retention = {settings.retain, settings.retain_dead};
  auto sinks_json = [raw = service.get(), reporter = std::make_shared<SinkReporter>(),
                     last_failure = std::move(last_failure)] {
    return to_json(reporter->report(raw->view(), last_failure, std::chrono::steady_clock::now()));
  };
  service->housekeeping_ = std::make_unique<Housekeeping>(database.make_store(), std::move(options),
                                                          std::move(sinks_json), std::move(on_status));
  return service;
}

RelayService::~RelayService() {
  stop();
  housekeeping_.reset();
}

void RelayService::stop() {
  for (auto& runner : runners_) runner->stop();
}

void RelayService::drain() {
  for (auto& runner : runners_) runner->drain();
}

RunnerEnd RelayService::wait_until(std::chrono::steady_clock::time_point deadline) {
  RunnerEnd end = RunnerEnd::stopped;
  for (auto& runner : runners_) {
    const RunnerEnd each = runner->end();
    if (each == RunnerEnd::fenced || each == RunnerEnd::failed) return each;
  }
  for (auto& runner : runners_) {
    end = runner->wait_until(deadline);
    if (end == RunnerEnd::running || end == RunnerEnd::fenced || end == RunnerEnd::failed) return end;
  }
  return end;
}

Failure RelayService::failure() const {
  for (const auto& runner : runners_) {
    if (runner->end() == RunnerEnd::failed || runner->end() == RunnerEnd::fenced) return runner->failure();
  }
  return {};
}

std::vector<FeedView> RelayService::view() const {
  std::vector<FeedView> views;
  for (const auto& runner : runners_) views.push_back(runner->view());
  return views;
}

std::string relay_name() {
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) host[0] = '?';
  return std::string(host.data()) + ":" + std::to_string(::getpid());
}

}  // namespace outbox::app
