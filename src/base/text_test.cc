#include "base/text.h"

#include <gtest/gtest.h>

#include "base/json_writer.h"

namespace outbox {
namespace {

TEST(Text, SplitKeepsEmptyParts) {
  EXPECT_EQ(split("a,,b", ','), (std::vector<std::string>{"a", "", "b"}));
  EXPECT_EQ(split("", ','), (std::vector<std::string>{""}));
}

TEST(Text, EditDistance) {
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
  EXPECT_EQ(edit_distance("", "abc"), 3u);
  EXPECT_EQ(edit_distance("same", "same"), 0u);
}

TEST(Text, NearestFindsTheTypingErrorAndNothingElse) {
  const std::vector<std::string> keys{"database", "outbox", "sinks", "routes", "retry"};
  EXPECT_EQ(nearest("databse", keys), "database");
  EXPECT_EQ(nearest("sink", keys), "sinks");
  EXPECT_EQ(nearest("xyzzy", keys), "");
}

TEST(Text, DurationsReadBack) {
  EXPECT_EQ(to_text(1500ms), "1500ms");
  EXPECT_EQ(to_text(90s), "90s");
  EXPECT_EQ(to_text(168h), "7d");
  EXPECT_EQ(to_text(1us), "1us");
}

TEST(Text, TimesReadBack) {
  const auto time = parse_rfc3339("2026-01-31T09:30:00.5+02:00");
  ASSERT_TRUE(time);
  EXPECT_EQ(to_rfc3339(*time), "2026-01-31T07:30:00.500000Z");
  EXPECT_EQ(to_rfc3339(*parse_rfc3339("1969-12-31T23:59:59.999999Z")), "1969-12-31T23:59:59.999999Z");
  for (const char* bad : {"", "2026-01-31", "2026-01-31T09:30:00", "2026-02-30T09:30:00Z", "2026-01-31T24:00:00Z",
                          "2026-01-31T09:30:00.Z", "2026-01-31T09:30:00.1234567Z", "2026-01-31T09:30:00Zx",
                          "2026-01-31T09:30:00+0200", "+026-01-31T09:30:00Z"}) {
    EXPECT_FALSE(parse_rfc3339(bad)) << bad;
  }
}

TEST(JsonWriter, NestsAndSeparates) {
  JsonWriter json;
  json.begin_object().key("a").begin_array().value(1).value("x").begin_object().end_object().end_array();
  json.key("b").null().key("c").value(1.5).key("d").value(true).end_object();
  EXPECT_EQ(json.text(), R"({"a":[1,"x",{}],"b":null,"c":1.5,"d":true})");
}

TEST(JsonWriter, KeepsWellFormedUtf8AndReplacesTheRest) {
  std::string out;
  append_json_string(out, "\xC3\xBC \xF0\x9F\x98\x80 \xED\xA0\x80 \xC0\xAF");
  EXPECT_EQ(out, "\"\xC3\xBC \xF0\x9F\x98\x80 \xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD \xEF\xBF\xBD\xEF\xBF\xBD\"");
}

}  // namespace
}  // namespace outbox
