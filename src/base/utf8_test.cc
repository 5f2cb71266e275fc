#include "base/utf8.h"

#include <gtest/gtest.h>

namespace outbox {
namespace {

TEST(ValidUtf8, KeepsWhatIsWellFormed) {
  const std::string text = "a\n\u00e4\u20ac\U0001f600";
  EXPECT_EQ(valid_utf8(text, 100), text);
}

TEST(ValidUtf8, ReplacesWhatIsNot) {
  EXPECT_EQ(valid_utf8(std::string("a\0b", 3), 100), "a?b");
  EXPECT_EQ(valid_utf8("\xff\xfe", 100), "??");
  EXPECT_EQ(valid_utf8("\xc0\x80", 100), "??");            // overlong
  EXPECT_EQ(valid_utf8("\xed\xa0\x80", 100), "???");       // a surrogate
  EXPECT_EQ(valid_utf8("\xf4\x90\x80\x80", 100), "????");  // beyond U+10FFFF
  EXPECT_EQ(valid_utf8("x\xe2\x82", 100), "x??");          // cut off
}

TEST(ValidUtf8, CutsBetweenCharacters) {
  EXPECT_EQ(valid_utf8("ab\u20ac", 4), "ab");
  EXPECT_EQ(valid_utf8("ab\u20ac", 5), "ab\u20ac");
  EXPECT_EQ(valid_utf8("ab", 0), "");
}

}  // namespace
}  // namespace outbox
