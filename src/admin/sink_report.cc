#include "admin/sink_report.h"

#include <cstdlib>

#include "base/json_walk.h"
#include "base/json_writer.h"

namespace outbox {

namespace {

// Reads [{…}, …]. What stands deeper, and members of other types or names, belong to another version: passed over.
class ReportReader : public JsonVisitor {
 public:
  std::vector<SinkReport> reports;

  bool null() override { return in_list(); }
  bool boolean(bool) override { return in_list(); }
  bool string(std::string& value) override {
    if (in_report()) read_text(value);
    return in_list();
  }
  bool number(const std::string& text) override {
    if (in_report()) read_number(text);
    return in_list();
  }
  bool key(std::string& name) override {
    if (depth_ == 2) name_ = name;
    return true;
  }
  bool begin_object() override {
    if (depth_ == 1) reports.emplace_back();
    ++depth_;
    return depth_ > 1;
  }
  bool begin_array() override {
    name_.clear();  // what follows belongs to no member of ours
    ++depth_;
    return true;
  }
  bool end_object() override { return end_array(); }
  bool end_array() override {
    --depth_;
    return true;
  }
  void syntax_error(std::size_t) override {}

 private:
  bool in_list() const { return depth_ > 0; }
  bool in_report() const { return depth_ == 2 && !reports.empty(); }

  void read_text(const std::string& value) {
    SinkReport& report = reports.back();
    if (name_ == "sink") report.sink = value;
    if (name_ == "breaker") report.breaker = value;
    if (name_ == "breaker_reason") report.breaker_reason = value;
    if (name_ == "held_because") report.held_because = value;
    if (name_ == "held_destination_reason") report.held_destination_reason = value;
    if (name_ == "last_error") report.last_error = value;
  }

  void read_number(const std::string& text) {
    SinkReport& report = reports.back();
    if (name_ == "delivered") report.delivered = std::strtoull(text.c_str(), nullptr, 10);
    if (name_ == "held_destinations") report.held_destinations = std::strtoull(text.c_str(), nullptr, 10);
    if (name_ == "in_flight") report.in_flight = std::strtoull(text.c_str(), nullptr, 10);
    if (name_ == "rate") report.rate = std::strtod(text.c_str(), nullptr);
    if (name_ == "last_error_us") report.last_error_at = Time(Duration(std::strtoll(text.c_str(), nullptr, 10)));
    if (name_ == "last_delivery_us") {
      report.last_delivery = Time(Duration(std::strtoll(text.c_str(), nullptr, 10)));
    }
  }

  int depth_ = 0;
  std::string name_;
};

}  // namespace

std::string to_json(std::span<const SinkReport> reports) {
  JsonWriter json;
  json.begin_array();
  for (const SinkReport& report : reports) {
    json.begin_object().key("sink").value(report.sink).key("breaker").value(report.breaker);
    json.key("breaker_reason").value(report.breaker_reason).key("held_because").value(report.held_because);
    json.key("held_destinations").value(report.held_destinations);
    json.key("held_destination_reason").value(report.held_destination_reason);
    json.key("last_error").value(report.last_error);
    json.key("last_error_us").value(report.last_error_at.time_since_epoch().count());
    json.key("delivered").value(report.delivered);
    json.key("rate").value(report.rate).key("in_flight").value(report.in_flight);
    json.key("last_delivery_us").value(report.last_delivery.time_since_epoch().count()).end_object();
  }
  json.end_array();
  return json.text();
}

Result<std::vector<SinkReport>> parse_sink_reports(std::string_view json) {
  ReportReader reader;
  if (!walk_json(json, reader)) return Failure{FailureKind::invalid, "a relay's heartbeat holds no list of sinks"};
  return std::move(reader.reports);
}

std::vector<SinkReport> SinkReporter::report(std::span<const FeedView> feeds, const LastFailure& last_failure,
                                             Clock::time_point now) {
  std::vector<SinkReport> reports;
  for (const FeedView& feed : feeds) {
    for (const SinkView& view : feed.sinks) {
      reports.push_back(report(view, now));
      const auto failed = last_failure(view.name);
      if (failed == Clock::time_point{} || feed.made_at == Clock::time_point{}) continue;
      // By the database's clock, which the view knows.
      reports.back().last_error_at = feed.now + std::chrono::duration_cast<Duration>(failed - feed.made_at);
    }
  }
  return reports;
}

SinkReport SinkReporter::report(const SinkView& view, Clock::time_point now) {
  SinkReport report;
  report.sink = view.name;
  report.breaker = to_string(view.breaker);
  report.breaker_reason = view.breaker == BreakerState::closed ? "" : view.breaker_reason;
  report.held_because = view.held_because;
  report.held_destinations = view.held_destinations;
  report.held_destination_reason = view.held_destination_reason;
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
  return report;
}

}  // namespace outbox
