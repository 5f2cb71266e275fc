#include "embed/relay_settings.h"

#include <algorithm>

#include "config/database_url.h"

namespace outbox {

namespace {

constexpr Duration kLeaseMin{1s};
constexpr int kConcurrencyMax = 1000;

Failure invalid(std::string what) { return {FailureKind::invalid, std::move(what)}; }

}  // namespace

Result<config::Settings> embedded_settings(const RelayOptions& options) {
  if (const auto kind = config::database_kind(options.database); !kind) return kind.failure();
  if (options.table.empty()) return invalid("RelayOptions::table is empty");
  if (options.drain_timeout < Duration(0)) return invalid("RelayOptions::drain_timeout is negative");
  if (options.lease < kLeaseMin) return invalid("RelayOptions::lease is shorter than a second");
  if (options.retain && *options.retain < Duration(0)) return invalid("RelayOptions::retain is negative");
  config::Settings settings;
  settings.database = options.database;
  settings.outbox.table = options.table;
  settings.drain_timeout = options.drain_timeout;
  settings.lease = options.lease;
  settings.retain = options.retain;
  // What no sink of this relay wants is for others, or for nobody.
  config::RouteSettings rest;
  rest.sink = "none";
  settings.routes.push_back(std::move(rest));
  return settings;
}

Result<void> add_embedded_sink(config::Settings& settings, const std::string& name, const MessageSinkOptions& options) {
  const std::string where = "the sink '" + name + "': ";
  if (!config::is_sink_name(name)) {
    return invalid(where + "a sink's name is 1 to 64 letters, digits, '_', '-' and '.', and not 'none'");
  }
  const bool taken = std::any_of(settings.sinks.begin(), settings.sinks.end(),
                                 [&](const config::SinkSettings& each) { return each.name == name; });
  if (taken) return invalid(where + "the relay has one of this name already");
  if (options.concurrency < 1 || options.concurrency > kConcurrencyMax) {
    return invalid(where + "concurrency is a number from 1 to " + std::to_string(kConcurrencyMax));
  }
  if (options.attempts < 1) return invalid(where + "attempts is 1 or more");
  if (options.retry_base <= Duration(0) || options.retry_cap < options.retry_base) {
    return invalid(where + "retry_base is above zero, and retry_cap not below it");
  }
  config::SinkSettings sink;
  sink.name = name;
  sink.type = "embedded";
  sink.retry.base = options.retry_base;
  sink.retry.cap = options.retry_cap;
  sink.retry.attempts = options.attempts;
  sink.from_beginning = options.from_beginning;
  config::RouteSettings route;
  route.sink = name;
  route.aggregate_type = options.aggregate_type;
  route.type = options.type;
  route.address = name;
  route.dead_letter_holds_key = options.dead_letter_holds_key;
  settings.sinks.push_back(std::move(sink));
  settings.routes.insert(settings.routes.end() - 1, std::move(route));
  return {};
}

}  // namespace outbox
