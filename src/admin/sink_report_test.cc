#include "admin/sink_report.h"

#include <gtest/gtest.h>

namespace outbox {
namespace {

TEST(SinkReport, ReadsBack) {
  SinkReport report;
  report.sink = "events";
  report.breaker = "open";
  report.breaker_reason = "refused";
  report.held_because = "breaker open";
  report.last_error = "connection \"refused\"\n";
  report.delivered = 1ull << 60;
  report.rate = 12.5;
  report.in_flight = 7;
  report.last_delivery = Time(Duration(1'700'000'000'123'456));
  const auto parsed = parse_sink_reports(to_json({&report, 1}));
  ASSERT_TRUE(parsed);
  ASSERT_EQ(parsed->size(), 1u);
  const SinkReport& back = parsed->front();
  EXPECT_EQ(back.sink, report.sink);
  EXPECT_EQ(back.breaker, report.breaker);
  EXPECT_EQ(back.breaker_reason, report.breaker_reason);
  EXPECT_EQ(back.held_because, report.held_because);
  EXPECT_EQ(back.last_error, report.last_error);
  EXPECT_EQ(back.delivered, report.delivered);
  EXPECT_EQ(back.rate, report.rate);
  EXPECT_EQ(back.in_flight, report.in_flight);
  EXPECT_EQ(back.last_delivery, report.last_delivery);
}

TEST(SinkReport, AnotherVersionsMembersDoNoHarm) {
  const auto parsed =
      parse_sink_reports(R"([{"sink":"a","new":{"x":1,"sink":"b"},"more":[{"sink":"c"}],"delivered":"many"},3])");
  ASSERT_TRUE(parsed);
  ASSERT_EQ(parsed->size(), 1u);
  EXPECT_EQ(parsed->front().sink, "a");
  EXPECT_EQ(parsed->front().delivered, 0u);
  EXPECT_TRUE(parse_sink_reports(R"([["sink",1]])")->empty());
  EXPECT_FALSE(parse_sink_reports("{}"));
  EXPECT_FALSE(parse_sink_reports("[{"));
}

TEST(SinkReporter, RateIsOfTheLastInterval) {
  SinkReporter reporter;
  SinkView view;
  view.name = "a";
  view.delivered = 100;
  const auto start = std::chrono::steady_clock::time_point{};
  EXPECT_EQ(reporter.report({&view, 1}, start)[0].rate, 0);
  view.delivered = 150;
  EXPECT_EQ(reporter.report({&view, 1}, start + 10s)[0].rate, 5);
  EXPECT_EQ(reporter.report({&view, 1}, start + 20s)[0].rate, 0);
}

}  // namespace
}  // namespace outbox
