#include "store/postgres/names.h"

#include <gtest/gtest.h>

namespace outbox {
namespace {

TEST(PgNames, FollowTheTable) {
  EXPECT_EQ(pg_names("outbox").outbox, R"("outbox")");
  EXPECT_EQ(pg_names("outbox").delivery, R"("outbox_delivery")");
  EXPECT_EQ(pg_names("shop.outbox").outbox, R"("shop"."outbox")");
  EXPECT_EQ(pg_names("shop.outbox").meta, R"("shop"."outbox_meta")");
  EXPECT_EQ(pg_names("billing_outbox").position, R"("billing_outbox_position")");
  EXPECT_EQ(pg_names("shop.billing_outbox").relay, R"("shop"."billing_outbox_relay")");
}

TEST(PgNames, OfAnAdoptedTable) {
  EXPECT_EQ(pg_names("outbox_events").outbox, R"("outbox_events")");
  EXPECT_EQ(pg_names("outbox_events").delivery, R"("outbox_delivery")");
  EXPECT_EQ(pg_names("app.events", "relay.my_").clock, R"("relay"."my_outbox_clock")");
  EXPECT_EQ(pg_names("app.events", "my_").clock, R"("app"."my_outbox_clock")");
}

TEST(PgNames, AreQuoted) { EXPECT_EQ(pg_names("a\"b").outbox, R"("a""b")"); }

}  // namespace
}  // namespace outbox
