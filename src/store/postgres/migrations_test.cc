#include "store/postgres/migrations.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace outbox {
namespace {

TEST(WithNames, LeavesTheDefaultAlone) {
  const std::string sql = "create table outbox (x int); create index outbox_seq on outbox (x); -- outboxd, my_outbox";
  EXPECT_EQ(with_names(sql, "outbox"), sql);
}

TEST(WithNames, PutsPrefixAndSchemaWhereTheyBelong) {
  EXPECT_EQ(with_names("create index outbox_seq on outbox (seq); select outbox_send()", "shop.billing_outbox"),
            "create index billing_outbox_seq on shop.billing_outbox (seq); select shop.billing_outbox_send()");
  EXPECT_EQ(with_names("outbox_meta outbox_meta_pkey", "Odd_outbox"), R"("Odd_outbox_meta" "Odd_outbox_meta_pkey")");
}

TEST(PostgresMigrations, AreNumberedPairs) {
  auto migrations = postgres_migrations({});
  ASSERT_TRUE(migrations);
  int version = 0;
  for (const auto& migration : *migrations) {
    EXPECT_EQ(migration.version, ++version);
    EXPECT_FALSE(migration.up.empty()) << migration.name;
    EXPECT_FALSE(migration.down.empty()) << migration.name;
    EXPECT_EQ(migration.up.find('{' + std::string("payload")), std::string::npos) << migration.name;
  }
  EXPECT_TRUE(migrations->front().makes_outbox);
}

// A database in another encoding takes nothing else, not even in a comment.
TEST(PostgresMigrations, AreAscii) {
  const auto is_ascii = [](const std::string& text) {
    return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
  };
  const auto migrations = postgres_migrations({});
  ASSERT_TRUE(migrations);
  for (const auto& migration : *migrations) {
    EXPECT_TRUE(is_ascii(migration.up)) << migration.name;
    EXPECT_TRUE(is_ascii(migration.down)) << migration.name;
  }
}

TEST(PostgresMigrations, RefuseAnUnknownPayload) {
  InitOptions options;
  options.payload = "xml";
  EXPECT_FALSE(postgres_migrations(options));
}

}  // namespace
}  // namespace outbox
