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
  report.held_destinations = 3;
  report.held_destination_reason = "no_exchange";
  report.last_error = "connection \"refused\"\n";
  report.last_error_at = Time(Duration(1'700'000'000'000'001));
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
  EXPECT_EQ(back.held_destinations, report.held_destinations);
  EXPECT_EQ(back.held_destination_reason, report.held_destination_reason);
  EXPECT_EQ(back.last_error, report.last_error);
  EXPECT_EQ(back.last_error_at, report.last_error_at);
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

class SinkReporterTest : public testing::Test {
 protected:
  SinkReporterTest() {
    feed_.sinks.emplace_back();
    view().name = "a";
    feed_.now = Time(Duration(1'700'000'000'000'000));
    feed_.made_at = kStart;
  }
  SinkView& view() { return feed_.sinks[0]; }
  SinkReport report(SinkReporter::Clock::time_point now) {
    return reporter_.report(
        {&feed_, 1}, [this](const std::string&) { return failed_at_; }, now)[0];
  }

  static constexpr SinkReporter::Clock::time_point kStart{std::chrono::hours(1)};
  FeedView feed_;
  SinkReporter::Clock::time_point failed_at_{};
  SinkReporter reporter_;
};

TEST_F(SinkReporterTest, RateIsOfTheLastInterval) {
  view().delivered = 100;
  EXPECT_EQ(report(kStart).rate, 0);
  view().delivered = 150;
  EXPECT_EQ(report(kStart + 10s).rate, 5);
  EXPECT_EQ(report(kStart + 20s).rate, 0);
}

TEST_F(SinkReporterTest, AFailureIsDatedByTheDatabasesClock) {
  EXPECT_EQ(report(kStart).last_error_at, Time{});
  failed_at_ = kStart - 3s;
  EXPECT_EQ(report(kStart).last_error_at, feed_.now - 3s);
}

}  // namespace
}  // namespace outbox
