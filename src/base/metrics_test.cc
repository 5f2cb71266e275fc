#include "base/metrics.h"

#include <gtest/gtest.h>

namespace outbox {
namespace {

constexpr MetricInfo kSent{"x_sent_total", MetricKind::counter, "sink", "sent"};
constexpr MetricInfo kPolls{"x_polls_total", MetricKind::counter, "", "polls"};
constexpr MetricInfo kRows{"x_rows", MetricKind::gauge, "", "rows"};
constexpr MetricInfo kTook{"x_took_seconds", MetricKind::histogram, "sink", "took"};
constexpr MetricInfo kTable[] = {kSent, kPolls, kRows, kTook};

bool has(const Metrics& metrics, const std::string& line) {
  return ("\n" + metrics.text()).find("\n" + line + "\n") != std::string::npos;
}

TEST(Metrics, DeclaredOnesShowBeforeTheyHaveAValue) {
  const Metrics metrics(kTable);
  for (const MetricInfo& info : kTable) {
    EXPECT_NE(metrics.text().find("# TYPE " + std::string(info.name)), std::string::npos) << info.name;
  }
  EXPECT_TRUE(has(metrics, "x_polls_total 0"));
  EXPECT_FALSE(has(metrics, "x_rows 0")) << "nobody has measured it";
}

TEST(Metrics, CountsByLabel) {
  Metrics metrics(kTable);
  Counter a = metrics.counter(kSent, {{"sink", "a"}});
  a.add();
  a.add(2);
  metrics.counter(kSent, {{"sink", "b\"\n"}}).add();
  metrics.counter(kSent, {{"sink", "a"}}).add();
  EXPECT_TRUE(has(metrics, "x_sent_total{sink=\"a\"} 4"));
  EXPECT_TRUE(has(metrics, "x_sent_total{sink=\"b\\\"\\n\"} 1"));
}

TEST(Metrics, TimestampsKeepTheirDigits) {
  Metrics metrics(kTable);
  metrics.gauge(kRows).set(1769851800.25);
  EXPECT_TRUE(has(metrics, "x_rows 1769851800.25")) << metrics.text();
}

TEST(Metrics, HistogramsHaveBucketsSumAndCount) {
  Metrics metrics(kTable);
  Histogram took = metrics.histogram(kTook, {{"sink", "a"}});
  took.observe(0.003);
  took.observe(100'000);
  EXPECT_TRUE(has(metrics, "x_took_seconds_count{sink=\"a\"} 2"));
  EXPECT_TRUE(has(metrics, "x_took_seconds_bucket{sink=\"a\",le=\"0.005\"} 1"));
  EXPECT_TRUE(has(metrics, "x_took_seconds_bucket{sink=\"a\",le=\"+Inf\"} 2"));
}

}  // namespace
}  // namespace outbox
