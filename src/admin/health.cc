#include "admin/health.h"

#include <fmt/format.h>

#include "base/json_writer.h"
#include "base/text.h"

namespace outbox {

namespace {

std::string name_of(const FeedView& feed) {
  std::vector<std::string> sinks;
  for (const SinkView& sink : feed.sinks) sinks.push_back(sink.name);
  return join(sinks, ", ");
}

void add(HealthReport& report, std::string reason) {
  report.good = false;
  report.reasons.push_back(std::move(reason));
}

void judge(HealthReport& report, const SinkView& sink) {
  if (sink.breaker != BreakerState::closed) {
    add(report, fmt::format("sink {}: breaker {}{}{}", sink.name, to_string(sink.breaker),
                            sink.breaker_reason.empty() ? "" : ": ", sink.breaker_reason));
  } else if (!sink.held_because.empty()) {
    add(report, fmt::format("sink {}: held: {}", sink.name, sink.held_because));
  }
}

}  // namespace

std::string HealthReport::json(std::string_view name) const {
  JsonWriter json;
  json.begin_object().key(name).value(good).key("reasons").begin_array();
  for (const std::string& reason : reasons) json.value(reason);
  json.end_array().end_object();
  return json.text() + "\n";
}

HealthReport health(std::span<const FeedView> feeds, std::chrono::steady_clock::time_point now) {
  HealthReport report;
  for (const FeedView& feed : feeds) {
    const auto silent = std::chrono::duration_cast<std::chrono::seconds>(now - feed.made_at);
    if (silent < kHungAfter) continue;
    add(report, fmt::format("feed of {}: its thread has not moved for {} s", name_of(feed), silent.count()));
  }
  return report;
}

HealthReport readiness(std::span<const FeedView> feeds, std::chrono::steady_clock::time_point now) {
  HealthReport report = health(feeds, now);
  if (feeds.empty()) add(report, "starting: no feed runs yet");
  for (const FeedView& feed : feeds) {
    if (!feed.reading) {
      add(report, fmt::format("feed of {}: does not read: {}", name_of(feed),
                              feed.database_error.empty() ? "not started yet" : feed.database_error));
    }
    if (!feed.settle_error.empty()) {
      add(report, fmt::format("feed of {}: cannot settle: {}", name_of(feed), feed.settle_error));
    }
    for (const SinkView& sink : feed.sinks) judge(report, sink);
  }
  return report;
}

}  // namespace outbox
