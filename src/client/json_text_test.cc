#include "client/json_text.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "client/json_samples.h"
#include "client/utf8.h"

namespace outbox::client {
namespace {

std::string nested(std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); }

TEST(JsonText, TakesWhatIsJson) {
  for (const std::string& text : kJson) EXPECT_EQ(judge_json(text).defect, "") << text;
}

TEST(JsonText, RefusesWhatIsNot) {
  for (const std::string& text : kNotJson) EXPECT_NE(judge_json(text).defect, "") << text;
}

// Another parser's opinion of the same samples. It cannot hold numbers beyond a double or half a surrogate pair, which
// are JSON all the same; it skips a byte order mark and stops at a NUL, which PostgreSQL does not do.
TEST(JsonText, AgreesWithAnotherParser) {
  for (const std::string& text : kJson) {
    const bool beyond = text.find("e400") != std::string::npos || text.find("\\ud8") != std::string::npos ||
                        text.find("\\udc") != std::string::npos;
    if (!beyond) {
      EXPECT_TRUE(nlohmann::json::accept(text)) << text;
    }
  }
  for (const std::string& text : kNotJson) {
    if (!text.starts_with("\xef\xbb\xbf") && text.find('\0') == std::string::npos) {
      EXPECT_FALSE(nlohmann::json::accept(text)) << text;
    }
  }
}

TEST(JsonText, KnowsWhatJsonbDoesNotTake) {
  for (const std::string& text : kJson) EXPECT_EQ(judge_json(text).jsonb_defect, "") << text;
  for (const std::string& text : kJsonButNotJsonb) {
    EXPECT_EQ(judge_json(text).defect, "") << text;
    EXPECT_NE(judge_json(text).jsonb_defect, "") << text.substr(0, 100);
  }
}

TEST(JsonText, BoundsTheDepth) {
  EXPECT_EQ(judge_json(nested(kMaxJsonDepth)).defect, "");
  EXPECT_NE(judge_json(nested(kMaxJsonDepth + 1)).defect, "");
  EXPECT_NE(judge_json(std::string(5'000'000, '[')).defect, "");
}

TEST(JsonText, SaysWhere) {
  EXPECT_EQ(judge_json(R"({"a":tru})").defect, "unknown word at byte 5");
  EXPECT_EQ(judge_json(R"({"s":"a\u0000b"})").jsonb_defect, "\\u0000 at byte 7");
  EXPECT_EQ(judge_json("").defect, "expected a value at byte 0");
}

TEST(Utf8, FindsTheFirstDefect) {
  EXPECT_FALSE(utf8_defect("").has_value());
  EXPECT_FALSE(utf8_defect("a\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\xed\x9f\xbf\xf4\x8f\xbf\xbf").has_value());
  EXPECT_EQ(utf8_defect("ab\xff"), 2U);
  for (const char* text :
       {"\x80", "\xc0\x80", "\xc1\xbf", "\xe0\x9f\xbf", "\xed\xa0\x80", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80",
        "\xf5\x80\x80\x80", "\xc3", "\xe2\x82", "\xf0\x9f\x98", "\xe2\x28\xa1"}) {
    EXPECT_EQ(utf8_defect(text), 0U) << text;
  }
}

}  // namespace
}  // namespace outbox::client
