// Who may take a share over is judged by the leases, at the moment when the epoch is raised.
#include <future>

#include "integration/postgres_relay.h"
#include "store/postgres/leases.h"
#include "support/eventually.h"

namespace outbox::test {
namespace {

using namespace std::chrono_literals;

class PostgresTakeOver : public PostgresTest {
 protected:
  void SetUp() override {
    PostgresTest::SetUp();
    if (IsSkipped()) return;
    init();
    table_ = must(inspect_postgres_table(url(), {})).table;
    leases_ = make_postgres_leases(url(), table_);
  }

  void renew(const std::string& relay, Duration lease) { must(leases_->renew(relay, "", {feed_.name}, lease)); }
  Result<FeedState> take_over(const std::string& relay) {
    return make_postgres_store(url(), table_)->take_over(feed_, relay);
  }
  std::string epoch_and_owner() {
    return database_->value("select epoch || ' ' || owner from outbox_position where sink = 'events'");
  }

  // True if `one` owned it before.
  bool one_lets_it_lapse_and_two_has_a_lease() {
    renew("one", 1h);
    const bool taken = take_over("one").has_value();
    renew("one", 1us);
    renew("two", 1h);
    return taken;
  }

  // Somebody takes over while a settle holds the position, and `meanwhile` happens before it lets go.
  Result<FeedState> take_over_behind_a_settle(const std::string& relay, const std::function<void()>& meanwhile) {
    database_->execute("begin; select from outbox_position for update");
    auto taken = std::async(std::launch::async, [&] { return take_over(relay); });
    PostgresDatabase other(*find_service(GetParam()));
    EXPECT_TRUE(eventually(30s, [&] {
      return other.value("select count(*) from pg_stat_activity where wait_event_type = 'Lock' and datname = '" +
                         database_->name() + "'") != "0";
    }));
    meanwhile();
    database_->execute("commit");
    return taken.get();
  }

  static void expect_fenced(const Result<FeedState>& taken, const std::string& why) {
    ASSERT_FALSE(taken);
    EXPECT_EQ(taken.failure().kind, FailureKind::fenced);
    EXPECT_NE(taken.failure().what.find(why), std::string::npos) << taken.failure().what;
  }

  const Feed feed_{"events", {"events"}, true, true};
  TableMapping table_;
  std::unique_ptr<Leases> leases_;
};

TEST_P(PostgresTakeOver, NeedsALeaseOfItsOwn) {
  expect_fenced(take_over("one"), "the lease of the relay one itself has run out");
  EXPECT_EQ(database_->value("select count(*) from outbox_position"), "0");
  renew("one", 1h);
  ASSERT_TRUE(take_over("one"));
  EXPECT_EQ(epoch_and_owner(), "1 one");
  renew("one", 1us);
  expect_fenced(take_over("one"), "the lease of the relay one itself has run out");
  EXPECT_EQ(epoch_and_owner(), "1 one");
}

TEST_P(PostgresTakeOver, WhatIsLeasedIsNotToBeHad) {
  renew("one", 1h);
  renew("two", 1h);
  ASSERT_TRUE(take_over("one"));
  expect_fenced(take_over("two"), "the relay one owns them");
  renew("one", 1us);
  ASSERT_TRUE(take_over("two"));
  EXPECT_EQ(epoch_and_owner(), "2 two");
}

TEST_P(PostgresTakeOver, ALeaseThatRunsOutWhileItWaitsDoesNotCount) {
  ASSERT_TRUE(one_lets_it_lapse_and_two_has_a_lease());
  expect_fenced(take_over_behind_a_settle("two", [&] { renew("two", 1us); }),
                "the lease of the relay two itself has run out");
  EXPECT_EQ(epoch_and_owner(), "1 one");
}

TEST_P(PostgresTakeOver, AnOwnerThatRenewsWhileItWaitsKeepsItsShare) {
  ASSERT_TRUE(one_lets_it_lapse_and_two_has_a_lease());
  expect_fenced(take_over_behind_a_settle("two", [&] { renew("one", 1h); }), "the relay one owns them");
  EXPECT_EQ(epoch_and_owner(), "1 one");
}

INSTANTIATE_TEST_SUITE_P(Servers, PostgresTakeOver, both_servers(), server_name);

}  // namespace
}  // namespace outbox::test
