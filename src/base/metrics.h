// Metrics: counters, gauges and histograms by name and labels, in Prometheus' text format. The client library stays
// behind this header.
//
// What can be counted stands in one table of MetricInfo (admin/metric_table.h). Take a handle once and keep it: adding
// to it is an atomic operation, looking it up is not. Handles live as long as their Metrics. Any thread.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace prometheus {
class Counter;
class Gauge;
class Histogram;
}  // namespace prometheus

namespace outbox {

enum class MetricKind { counter, gauge, histogram };

struct MetricInfo {
  std::string_view name;
  MetricKind kind;
  std::string_view labels;  // "sink,state"; for the reference
  std::string_view help;
};

class Counter {
 public:
  explicit Counter(prometheus::Counter& counter) : counter_(&counter) {}
  void add(double count = 1);

 private:
  prometheus::Counter* counter_;
};

class Gauge {
 public:
  explicit Gauge(prometheus::Gauge& gauge) : gauge_(&gauge) {}
  void set(double value);

 private:
  prometheus::Gauge* gauge_;
};

class Histogram {
 public:
  explicit Histogram(prometheus::Histogram& histogram) : histogram_(&histogram) {}
  void observe(double seconds);

 private:
  prometheus::Histogram* histogram_;
};

using MetricLabels = std::map<std::string, std::string>;

class Metrics {
 public:
  // Counters and histograms without labels are there from the start, at 0. A gauge appears when it is first set, so
  // that it never shows a number that nobody has measured.
  explicit Metrics(std::span<const MetricInfo> table);
  ~Metrics();
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;

  // Asking for a metric that is not in the table, or of another kind, is a broken invariant.
  Counter counter(const MetricInfo& info, const MetricLabels& labels = {});
  Gauge gauge(const MetricInfo& info, const MetricLabels& labels = {});
  Histogram histogram(const MetricInfo& info, const MetricLabels& labels = {});

  // Text exposition format 0.0.4: every metric of the table has its HELP and TYPE lines, with or without series.
  std::string text() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace outbox
