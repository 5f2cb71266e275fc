#include "base/metrics.h"

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <vector>

#include "base/result.h"

namespace outbox {

namespace {

// From a loopback round trip to an outage of hours.
const std::vector<double> kSeconds{0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1,  0.25, 0.5,
                                   1,      2.5,   5,      10,    30,   60,    300,  1800, 7200};

const char* type_name(MetricKind kind) {
  switch (kind) {
    case MetricKind::counter: return "counter";
    case MetricKind::gauge: return "gauge";
    case MetricKind::histogram: return "histogram";
  }
  return "untyped";
}

}  // namespace

class Metrics::State {
 public:
  explicit State(std::span<const MetricInfo> metrics) : table(metrics.begin(), metrics.end()) {
    for (const MetricInfo& info : table) declare(info);
  }

  void declare(const MetricInfo& info) {
    const std::string name(info.name);
    const std::string help(info.help);
    switch (info.kind) {
      case MetricKind::counter:
        counters[info.name] = &prometheus::BuildCounter().Name(name).Help(help).Register(registry);
        return;
      case MetricKind::gauge:
        gauges[info.name] = &prometheus::BuildGauge().Name(name).Help(help).Register(registry);
        return;
      case MetricKind::histogram:
        histograms[info.name] = &prometheus::BuildHistogram().Name(name).Help(help).Register(registry);
        return;
    }
  }

  template <class T>
  static prometheus::Family<T>& find(const std::map<std::string_view, prometheus::Family<T>*>& families,
                                     const MetricInfo& info) {
    const auto found = families.find(info.name);
    OUTBOX_ASSERT(found != families.end());
    return *found->second;
  }

  std::vector<MetricInfo> table;
  prometheus::Registry registry;
  std::map<std::string_view, prometheus::Family<prometheus::Counter>*> counters;
  std::map<std::string_view, prometheus::Family<prometheus::Gauge>*> gauges;
  std::map<std::string_view, prometheus::Family<prometheus::Histogram>*> histograms;
};

void Counter::add(double count) { counter_->Increment(count); }
void Gauge::set(double value) { gauge_->Set(value); }
void Histogram::observe(double seconds) { histogram_->Observe(seconds); }

Metrics::Metrics(std::span<const MetricInfo> table) : state_(std::make_unique<State>(table)) {
  for (const MetricInfo& info : table) {
    if (!info.labels.empty()) continue;
    if (info.kind == MetricKind::counter) counter(info);
    if (info.kind == MetricKind::histogram) histogram(info);
  }
}

Metrics::~Metrics() = default;

Counter Metrics::counter(const MetricInfo& info, const MetricLabels& labels) {
  return Counter(State::find(state_->counters, info).Add(labels));
}

Gauge Metrics::gauge(const MetricInfo& info, const MetricLabels& labels) {
  return Gauge(State::find(state_->gauges, info).Add(labels));
}

Histogram Metrics::histogram(const MetricInfo& info, const MetricLabels& labels) {
  return Histogram(State::find(state_->histograms, info).Add(labels, kSeconds));
}

std::string Metrics::text() const {
  const auto families = state_->registry.Collect();
  std::string text = prometheus::TextSerializer().Serialize(families);
  for (const MetricInfo& info : state_->table) {
    const bool shown =
        std::any_of(families.begin(), families.end(), [&](const auto& family) { return family.name == info.name; });
    if (shown) continue;
    text.append("# HELP ").append(info.name).append(" ").append(info.help).append("\n");
    text.append("# TYPE ").append(info.name).append(" ").append(type_name(info.kind)).append("\n");
  }
  return text;
}

}  // namespace outbox
