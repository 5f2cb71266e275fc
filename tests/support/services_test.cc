#include "support/services.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "support/postgres_database.h"

namespace outbox::test {
namespace {

class PostgresService : public testing::TestWithParam<Service> {};

TEST_P(PostgresService, KeepsWhatWasCommittedThroughAKill) {
  OUTBOX_REQUIRE_SERVICE(server, GetParam());
  PostgresDatabase database(server);
  database.execute("CREATE TABLE t (n int); INSERT INTO t VALUES (1), (NULL)");
  kill_service(GetParam());
  EXPECT_THROW(database.execute("INSERT INTO t VALUES (2)"), std::runtime_error);
  start_service(GetParam());
  const auto rows = database.query("SELECT n FROM t WHERE n = $1 OR n IS NULL ORDER BY n", {"1"});
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0][0], "1");
  EXPECT_FALSE(rows[1][0]);
}

TEST_P(PostgresService, StopsAndComesBackAtTheSameAddress) {
  OUTBOX_REQUIRE_SERVICE(server, GetParam());
  stop_service(GetParam());
  EXPECT_THROW(PostgresDatabase{server}, std::runtime_error);
  start_service(GetParam());
  PostgresDatabase first(server);
  PostgresDatabase second(server);
  EXPECT_NE(first.name(), second.name());
  EXPECT_EQ(first.value("SELECT current_database()"), first.name());
}

INSTANTIATE_TEST_SUITE_P(Services, PostgresService, testing::Values(Service::postgresql, Service::postgresql_newest),
                         [](const auto& each) { return environment_variable(each.param); });

}  // namespace
}  // namespace outbox::test
