#include "config/units.h"

#include <gtest/gtest.h>

namespace outbox::config {
namespace {

// B213: each value is exact or an error that names it.
TEST(Duration, ExactOrRefused) {
  EXPECT_EQ(*parse_duration("10s"), 10s);
  EXPECT_EQ(*parse_duration("10ms"), 10ms);
  EXPECT_EQ(*parse_duration("1.5s"), 1500ms);
  EXPECT_EQ(*parse_duration("0.000001s"), 1us);
  EXPECT_EQ(*parse_duration("7d"), 168h);
  EXPECT_EQ(*parse_duration("0s"), 0s);
  for (const char* bad : {"10", "0", "-1", "-1s", "10 s", "", " ", "s", "1.s", ".5s", "10sec", "10S", "1e3s", "0x10s",
                          "1s2", "0.0000001s", "99999999999999999999s", "9999999999999d", "+1s"}) {
    const auto parsed = parse_duration(bad);
    ASSERT_FALSE(parsed) << bad;
    EXPECT_NE(parsed.failure().what.find(*bad == '\0' ? "empty" : bad), std::string::npos) << parsed.failure().what;
  }
}

TEST(Duration, SaysWhatToWrite) {
  EXPECT_EQ(parse_duration("10").failure().what, "'10' has no unit; write it with one of us, ms, s, m, h, d, like 10s");
}

TEST(Size, ExactOrRefused) {
  EXPECT_EQ(*parse_size("512B"), 512);
  EXPECT_EQ(*parse_size("64KB"), 64 * 1024);
  EXPECT_EQ(*parse_size("1.5MB"), 3 * 512 * 1024);
  EXPECT_EQ(*parse_size("1GB"), 1 << 30);
  for (const char* bad : {"64", "64kb", "64 KB", "0.3B", "9999999999GB", "KB", ""})
    EXPECT_FALSE(parse_size(bad)) << bad;
}

TEST(Size, ReadsBack) {
  EXPECT_EQ(size_text(16 << 20), "16MB");
  EXPECT_EQ(size_text(1000), "1000B");
  EXPECT_EQ(size_text(0), "0B");
}

}  // namespace
}  // namespace outbox::config
