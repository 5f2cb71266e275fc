#include "admin/sink_report.h"

#include <nlohmann/json.hpp>

#include "base/json_writer.h"

namespace outbox {

namespace {

// A member of another type than expected counts as missing.
template <class T>
void read(const nlohmann::json& from, const char* name, T& into) {
  const auto member = from.find(name);
  if (member == from.end()) return;
  if constexpr (std::is_same_v<T, std::string>) {
    if (member->is_string()) into = member->get<std::string>();
  } else {
    if (member->is_number()) into = member->get<T>();
  }
}

SinkReport parse_one(const nlohmann::json& json) {
  SinkReport report;
  std::int64_t last_delivery = 0;
  read(json, "sink", report.sink);
  read(json, "breaker", report.breaker);
  read(json, "breaker_reason", report.breaker_reason);
  read(json, "held_because", report.held_because);
  read(json, "last_error", report.last_error);
  read(json, "delivered", report.delivered);
  read(json, "rate", report.rate);
  read(json, "in_flight", report.in_flight);
  read(json, "last_delivery_us", last_delivery);
  report.last_delivery = Time(Duration(last_delivery));
  return report;
}

}  // namespace

std::string to_json(std::span<const SinkReport> reports) {
  JsonWriter json;
  json.begin_array();
  for (const SinkReport& report : reports) {
    json.begin_object().key("sink").value(report.sink).key("breaker").value(report.breaker);
    json.key("breaker_reason").value(report.breaker_reason).key("held_because").value(report.held_because);
    json.key("last_error").value(report.last_error).key("delivered").value(report.delivered);
    json.key("rate").value(report.rate).key("in_flight").value(report.in_flight);
    json.key("last_delivery_us").value(report.last_delivery.time_since_epoch().count()).end_object();
  }
  json.end_array();
  return json.text();
}

Result<std::vector<SinkReport>> parse_sink_reports(std::string_view json) {
  const auto parsed = nlohmann::json::parse(json, nullptr, false);
  if (!parsed.is_array()) return Failure{FailureKind::invalid, "a relay's heartbeat holds no list of sinks"};
  std::vector<SinkReport> reports;
  for (const auto& each : parsed) {
    if (each.is_object()) reports.push_back(parse_one(each));
  }
  return reports;
}

std::vector<SinkReport> SinkReporter::report(std::span<const SinkView> sinks,
                                             std::chrono::steady_clock::time_point now) {
  std::vector<SinkReport> reports;
  for (const SinkView& view : sinks) {
    SinkReport report;
    report.sink = view.name;
    report.breaker = to_string(view.breaker);
    report.breaker_reason = view.breaker == BreakerState::closed ? "" : view.breaker_reason;
    report.held_because = view.held_because;
    report.last_error = view.last_error;
    report.delivered = view.delivered;
    report.in_flight = view.in_flight;
    report.last_delivery = view.last_delivery;
    const auto [last, first] = last_.try_emplace(view.name, Last{view.delivered, now});
    const std::chrono::duration<double> passed = now - last->second.at;
    if (!first && passed.count() > 0 && view.delivered >= last->second.delivered) {
      report.rate = static_cast<double>(view.delivered - last->second.delivered) / passed.count();
    }
    last->second = {view.delivered, now};
    reports.push_back(std::move(report));
  }
  return reports;
}

}  // namespace outbox
