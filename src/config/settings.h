// Settings: a configuration file, read and checked: what the app builds the daemon from. Plain values.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "base/time.h"
#include "config/options.h"
#include "model/table.h"

namespace outbox::config {

// What a sink may be called; "none" is the route to nowhere.
inline bool is_sink_name(std::string_view name) {
  constexpr std::string_view kAllowed = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.";
  return !name.empty() && name.size() <= 64 && name != "none" &&
         name.find_first_not_of(kAllowed) == std::string_view::npos;
}

struct RetrySettings {
  Duration base{1s};
  Duration cap{30s};
  std::int64_t attempts = 8;
  std::optional<Duration> age{};
  std::int64_t budget_percent = 10;  // the budget is a sink's: a route has none of its own
  std::int64_t budget_per_second = 10;
};

struct BreakerSettings {
  std::int64_t failures = 5;
  Duration open{5s};
  Duration cap{1min};
};

struct SinkSettings {
  std::string name;
  std::string type;     // a SinkType::name
  Values options;       // by that type's table
  RetrySettings retry;  // the file's, overridden by the sink's own
  BreakerSettings breaker;
  bool from_beginning = false;  // from: now | beginning; matters once, when the sink is new
  std::int64_t parked_max = 100'000;
};

struct RouteSettings {
  std::string sink;  // a sink's name, or "none"
  std::optional<std::string> aggregate_type;
  std::optional<std::string> type;
  std::string address;  // template; the route's own, or the sink type's default; empty for sink: none
  std::string owner;
  std::optional<RetrySettings> retry;
  bool dead_letter_holds_key = false;
};

// Where copies of dead letters go.
struct ForwardSettings {
  std::string sink;
  std::string address;  // template; its own, or the sink type's default
};

struct AdminSettings {
  std::string listen;  // host:port; empty: none
};

struct LogSettings {
  log::Level level = log::Level::info;
  log::Format format = log::Format::logfmt;
};

struct Settings {
  std::string database;  // URL: postgresql://… or sqlite:FILE; secret (may hold a password)
  TableMapping outbox;
  std::optional<Duration> retain;  // sent rows
  std::optional<Duration> retain_dead{std::chrono::hours(24 * 30)};
  std::int64_t replays_max = 10;  // of a dead letter, unchanged
  std::optional<ForwardSettings> forward;
  std::vector<SinkSettings> sinks;
  std::vector<RouteSettings> routes;
  AdminSettings admin;
  LogSettings log;
  Duration drain_timeout{10s};  // SIGTERM: how long what is in flight may take
  Duration lease{10s};          // how long a relay that says nothing keeps its shares
};

}  // namespace outbox::config
