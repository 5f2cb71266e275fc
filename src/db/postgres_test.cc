#include "db/postgres.h"

#include <gtest/gtest.h>

namespace outbox::db {
namespace {

using namespace std::chrono;

// Whatever a timestamptz can hold comes back as it was: SELECT extract(epoch from …) says the same of each.
TEST(PgTimeTest, WritesEachTimeThatTheServerKnows) {
  const auto at = [](std::int64_t seconds) { return pg_time(Time(std::chrono::seconds(seconds))); };
  EXPECT_EQ(at(0), "1970-01-01 00:00:00.000000+00");
  EXPECT_EQ(pg_time(Time(Duration(-1))), "1969-12-31 23:59:59.999999+00");
  EXPECT_EQ(at(951'782'400), "2000-02-29 00:00:00.000000+00");
  EXPECT_EQ(at(1'200'110'860'800), "40000-01-01 00:00:00.000000+00");
  EXPECT_EQ(at(-62'135'596'800), "0001-01-01 00:00:00.000000+00");
  EXPECT_EQ(at(-62'135'596'801), "0001-12-31 23:59:59.000000+00 BC");
  EXPECT_EQ(pg_time(kNever), "infinity");
  EXPECT_EQ(pg_time(Time::min()), "-infinity");
}

TEST(PgTimeTest, ATimeThatDoesNotFitIsTheLatest) {
  const auto read = [](std::int64_t since_2000) {
    std::string bytes;
    for (int shift = 56; shift >= 0; shift -= 8) bytes += static_cast<char>(since_2000 >> shift);
    return pg_timestamp(bytes);
  };
  EXPECT_EQ(read(0), Time(seconds(946'684'800)));
  EXPECT_EQ(read(INT64_MAX), kNever);
  EXPECT_EQ(read(INT64_MIN), Time::min());
  EXPECT_EQ(read(9'223'371'331'199'999'999), Time::max() - Duration(1)) << "294276-12-31 23:59:59.999999";
  EXPECT_EQ(pg_time(read(9'223'371'331'199'999'999)).substr(0, 6), "294247");
}

}  // namespace
}  // namespace outbox::db
