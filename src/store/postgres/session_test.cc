#include "store/postgres/session.h"

#include <gtest/gtest.h>

namespace outbox {
namespace {

using namespace std::string_literals;

TEST(Storable, KeepsWhatIsValid) {
  EXPECT_EQ(storable("gr\xC3\xBC\xC3\x9F \xF0\x9F\x98\x80"), "gr\xC3\xBC\xC3\x9F \xF0\x9F\x98\x80");
}

TEST(Storable, ReplacesWhatPostgresRefuses) {
  EXPECT_EQ(storable("a\0b"s), "a?b");
  EXPECT_EQ(storable("\xC0\x80"), "??");         // overlong
  EXPECT_EQ(storable("\xED\xA0\x80x"), "???x");  // a surrogate
  EXPECT_EQ(storable("\xF5\x80\x80\x80"), "????");
  EXPECT_EQ(storable("cut \xE2\x82"), "cut ??");
}

TEST(Storable, CutsAtACharacter) {
  std::string text(4095, 'x');
  EXPECT_EQ(storable(text + "\xC3\xBC").size(), 4095u);
  EXPECT_EQ(storable(std::string(300'000, 'x')).size(), 4096u);
}

TEST(SqlArray, QuotesItsElements) {
  EXPECT_EQ(sql_array(std::vector<std::string>{"a\"b", "c\\d", "", "NULL"}), R"({"a\"b","c\\d","","NULL"})");
  EXPECT_EQ(sql_array(std::vector<std::int64_t>{1, -2}), "{1,-2}");
}

TEST(PgTime, IsExactToTheMicrosecond) {
  EXPECT_EQ(db::pg_time(Time(Duration(1'764'490'200'000'001))), "2025-11-30 08:10:00.000001+00");
  EXPECT_EQ(db::pg_time(Time(Duration(-1))), "1969-12-31 23:59:59.999999+00");
  EXPECT_EQ(db::pg_time(kNever), "infinity");
}

}  // namespace
}  // namespace outbox
