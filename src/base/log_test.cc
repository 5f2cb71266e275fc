#include <gtest/gtest.h>

#include "base/log_line.h"

namespace outbox::log {
namespace {

const Time kWhen = Time(Duration(1'769'851'800'000'123));

TEST(LogLine, LogfmtQuotesWhatNeedsIt) {
  const std::vector<Field> fields{{"sink", "events"}, {"error", "a=\"b\"\nc"}, {"empty", ""}};
  EXPECT_EQ(format_line(Format::logfmt, kWhen, Level::warn, "sink is down", fields),
            "time=2026-01-31T09:30:00.000123Z level=warn event=\"sink is down\" sink=events "
            "error=\"a=\\\"b\\\"\\nc\" empty=\"\"");
}

TEST(LogLine, JsonStaysValidForAnyBytes) {
  const std::vector<Field> fields{{"error", std::string("x\x01\xff y\x80", 6)}};
  EXPECT_EQ(format_line(Format::json, kWhen, Level::error, "settle failed", fields),
            "{\"time\":\"2026-01-31T09:30:00.000123Z\",\"level\":\"error\",\"event\":\"settle failed\","
            "\"error\":\"x\\u0001\xEF\xBF\xBD y\xEF\xBF\xBD\"}");
}

TEST(LogLine, AValueCannotBreakTheLine) {
  const std::vector<Field> fields{{"detail", "first\r\nlevel=error event=forged"}};
  const std::string line = format_line(Format::logfmt, kWhen, Level::info, "x", fields);
  EXPECT_EQ(line.find('\n'), std::string::npos);
  EXPECT_EQ(line.find('\r'), std::string::npos);
}

TEST(RepeatLimiter, OnePerIntervalAndKeyWithTheCountOfTheRest) {
  RepeatLimiter limiter;
  const auto start = RepeatLimiter::Clock::time_point{};
  EXPECT_EQ(limiter.admit("a", 1s, start), 0u);
  EXPECT_EQ(limiter.admit("a", 1s, start + 10ms), std::nullopt);
  EXPECT_EQ(limiter.admit("a", 1s, start + 999ms), std::nullopt);
  EXPECT_EQ(limiter.admit("b", 1s, start + 999ms), 0u);
  EXPECT_EQ(limiter.admit("a", 1s, start + 1s), 2u);
  EXPECT_EQ(limiter.admit("a", 1s, start + 2s), 0u);
}

TEST(RepeatLimiter, StillLimitsAfterManyKeys) {
  RepeatLimiter limiter;
  const auto start = RepeatLimiter::Clock::time_point{};
  for (int i = 0; i < 20'000; ++i) limiter.admit("key" + std::to_string(i), 1ms, start + i * 1ms);
  EXPECT_EQ(limiter.admit("last", 1h, start + 30s), 0u);
  EXPECT_EQ(limiter.admit("last", 1h, start + 31s), std::nullopt);
}

}  // namespace
}  // namespace outbox::log
