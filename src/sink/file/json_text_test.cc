#include "sink/file/json_text.h"

#include <gtest/gtest.h>

namespace outbox::file {
namespace {

using namespace std::string_literals;

std::string one_line(std::string_view json) {
  std::string out = "before ";
  EXPECT_TRUE(append_one_line(json, out)) << json;
  return out.substr(7);
}

TEST(OneLine, LeavesJsonAsItStands) {
  for (const char* json :
       {"0", "-0.50e+03", "true", "null", R"("")", "[]", "{}", R"({"a":[1, 2 ,{}],"b":{"c":"\u0000\ud83d\ude00\/"}})",
        R"({"z":1,"a":1.0,"a":2})", " [ ]\t", "9007199254740993", "\"Gr\xC3\xBC\xC3\x9F\x65 \xF0\x9F\x98\x80\x7F\"",
        R"(["a long string without anything special in it, and \"more\" of it after that"])"}) {
    EXPECT_EQ(one_line(json), json);
  }
}

TEST(OneLine, LineBreaksBetweenTokensBecomeBlanks) {
  EXPECT_EQ(one_line("{\r\n  \"a\" :\n[1,\n2]\n}\n"), "{    \"a\" : [1, 2] } ");
  EXPECT_EQ(one_line("\n\"a\\n\"\r"), " \"a\\n\" ");
}

TEST(OneLine, AnyDepth) {
  const std::string deep = std::string(200'000, '[') + std::string(200'000, ']');
  EXPECT_EQ(one_line(deep), deep);
  std::string out;
  EXPECT_FALSE(append_one_line(std::string(200'000, '['), out));
}

TEST(OneLine, RefusesWhatIsNotJsonAndLeavesTheOutput) {
  for (const std::string& text : {""s,
                                  " "s,
                                  "{"s,
                                  "}"s,
                                  "[1,]"s,
                                  "[,1]"s,
                                  "{\"a\"}"s,
                                  "{\"a\":}"s,
                                  "{\"a\":1,}"s,
                                  "{a:1}"s,
                                  "'a'"s,
                                  "01"s,
                                  "1."s,
                                  ".5"s,
                                  "-"s,
                                  "1e"s,
                                  "+1"s,
                                  "tru"s,
                                  "nullx"s,
                                  "\"a"s,
                                  "\"\\x\""s,
                                  "\"\\u12g4\""s,
                                  "\"\\u12"s,
                                  "\"\\"s,
                                  "1 2"s,
                                  "[1}"s,
                                  "{\"a\":1]"s,
                                  "\"a\nb\""s,
                                  "\"a\0b\""s,
                                  "\"a\tb\""s,
                                  "\0"s,
                                  "1\0"s,
                                  "\"\\\0\""s,
                                  "\xEF\xBB\xBF{}"s,
                                  "NaN"s,
                                  "\"\x80\""s,
                                  "\"\xC3\""s,
                                  "\"\xC0\xAF\""s,
                                  "\"\xE0\x80\x80\""s,
                                  "\"\xED\xA0\x80\""s,
                                  "\"\xF4\x90\x80\x80\""s,
                                  "\"\xF0\x80\x80\x80\""s,
                                  "\"\xFF\""s,
                                  "\"\xE2\x82\""s}) {
    std::string out = "before";
    EXPECT_FALSE(append_one_line(text, out)) << testing::PrintToString(text);
    EXPECT_EQ(out, "before");
  }
}

TEST(OneLine, FindsWhatIsSpecialAtAnyPlaceOfAString) {
  for (std::size_t length = 0; length < 24; ++length) {
    for (std::size_t at = 0; at <= length; ++at) {
      const std::string before(at, 'x');
      const std::string after(length - at, 'y');
      EXPECT_EQ(one_line('"' + before + "\\\"" + after + '"').size(), length + 4);
      EXPECT_EQ(one_line('"' + before + "\xC3\xA9" + after + '"').size(), length + 4);
      std::string out;
      EXPECT_FALSE(append_one_line('"' + before + '\x1f' + after + '"', out));
      EXPECT_FALSE(append_one_line('"' + before + '"' + after + "z\"", out));
    }
  }
}

TEST(Base64, Vectors) {
  const auto encoded = [](std::string_view bytes) {
    std::string out = ">";
    append_base64(bytes, out);
    return out.substr(1);
  };
  EXPECT_EQ(encoded(""), "");
  EXPECT_EQ(encoded("f"), "Zg==");
  EXPECT_EQ(encoded("fo"), "Zm8=");
  EXPECT_EQ(encoded("foo"), "Zm9v");
  EXPECT_EQ(encoded("foobar"), "Zm9vYmFy");
  EXPECT_EQ(encoded("\0\xFF\xFE\xFB"s), "AP/++w==");
}

}  // namespace
}  // namespace outbox::file
