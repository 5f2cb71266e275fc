#include "sink/http/retry_after.h"

#include <gtest/gtest.h>

namespace outbox::http {
namespace {

constexpr Time kNow{std::chrono::sys_days(std::chrono::year(2026) / 11 / 30) + 8h + 30min};

std::optional<Duration> parsed(std::string_view value) { return parse_retry_after(value, kNow); }

TEST(RetryAfter, Seconds) {
  EXPECT_EQ(parsed("7"), Duration(7s));
  EXPECT_EQ(parsed(" 120\r\n"), Duration(120s));
  EXPECT_EQ(parsed("007"), Duration(7s));
}

TEST(RetryAfter, TheThreeKindsOfDate) {
  EXPECT_EQ(parsed("Mon, 30 Nov 2026 08:30:10 GMT"), Duration(10s));
  EXPECT_EQ(parsed("Monday, 30-Nov-26 08:32:00 GMT"), Duration(2min));
  EXPECT_EQ(parsed("Mon Nov 30 09:30:00 2026"), Duration(1h));
  EXPECT_EQ(parsed("Tue Dec  1 08:00:00 2026"), Duration(23h + 30min));
}

TEST(RetryAfter, ADateThatHasPassedIsNone) {
  EXPECT_EQ(parsed("Mon, 30 Nov 2026 07:30:00 GMT"), std::nullopt);
  EXPECT_EQ(parsed("Wed, 21 Oct 2015 07:28:00 GMT"), std::nullopt);
  EXPECT_EQ(parsed("Sunday, 06-Nov-94 08:49:37 GMT"), std::nullopt);
}

TEST(RetryAfter, LongWaitsAreCapped) {
  for (const char* value :
       {"9999999999", "99999999999999999999999999999999999999", "86401", "Fri, 31 Dec 9999 23:59:59 GMT"}) {
    EXPECT_EQ(parsed(value), kRetryAfterMax) << value;
  }
}

TEST(RetryAfter, WhatIsNotUnderstoodIsNone) {
  for (const char* value : {"", " ", "0", "-5", "-1", "+7", "1e400", "7.5", "120, 60", "soon", "7s", "0x10",
                            "Mon, 31 Nov 2026 08:30:10 GMT", "Mon, 30 Foo 2026 08:30:10 GMT",
                            "Mon, 30 Nov 2026 25:00:00 GMT", "Mon, 30 Nov 2026 08:30:10", "Mon, 30 Nov 2026",
                            "Mon, 30 Nov 2026 08:30:10 GMT; x", "Mon, -1 Nov 2026 08:30:10 GMT"}) {
    EXPECT_EQ(parsed(value), std::nullopt) << value;
  }
  EXPECT_EQ(parsed(std::string(5'000, '7')), std::nullopt);
}

}  // namespace
}  // namespace outbox::http
