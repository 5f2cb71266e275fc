#include "config/database_url.h"

#include <gtest/gtest.h>

namespace outbox::config {
namespace {

TEST(DatabaseUrl, KindsByScheme) {
  for (const char* url :
       {"postgresql://localhost/shop", "postgres://u:p@h:5432/shop?sslmode=require&application_name=a", "postgresql://",
        "postgresql:///shop?host=%2Frun&user=a@b", "postgresql://%2Frun%2Fpostgresql/shop", "postgresql://u@[::1]:1/d",
        "postgresql://u:p%40ss%2F@a:1,b:2/shop", "postgresql://u:p?ss:w=ord@h/shop"}) {
    const auto kind = database_kind(url);
    ASSERT_TRUE(kind) << url << ": " << kind.failure().what;
    EXPECT_EQ(*kind, DatabaseKind::postgresql);
  }
  EXPECT_EQ(*database_kind("sqlite:shop.db"), DatabaseKind::sqlite);
  EXPECT_FALSE(database_kind("oracle:x"));
}

// What is not percent-encoded would be read as a host, a port or a database, and shown as one.
TEST(DatabaseUrl, RawCharactersInAPasswordAreRefusedUnseen) {
  for (const char* url :
       {"postgresql://u:s3@cret@h/shop", "postgresql://u:s3@cr@et@h/shop", "postgresql://u:s3/cret@h/shop",
        "postgresql://u:12/s3cret@h/shop", "postgresql://u:s3@cr/et@h/shop", "postgresql://u:s3@cret:x@h/shop",
        "postgresql://u:s3%cret@h/shop", "postgresql://u:s3cret@h/shop?s3cret", "postgresql://u:s3%00cret@h/shop",
        "postgresql://u:s3@cr?et@h/shop"}) {
    const auto kind = database_kind(url);
    ASSERT_FALSE(kind) << url;
    EXPECT_EQ(kind.failure().kind, FailureKind::invalid);
    EXPECT_NE(kind.failure().what.find("%40 for '@'"), std::string::npos);
    EXPECT_EQ(kind.failure().what.find("s3"), std::string::npos) << kind.failure().what;
    EXPECT_EQ(kind.failure().what.find("cret"), std::string::npos) << kind.failure().what;
    EXPECT_EQ(printable_database(url), "the database") << url;
  }
}

TEST(DatabaseUrl, PrintsWhereAndNotWho) {
  EXPECT_EQ(printable_database("postgresql://u:secret@h:5432/shop?password=secret"), "postgresql://h:5432/shop");
  EXPECT_EQ(printable_database("postgresql://u:sec?ret@h/shop"), "postgresql://h/shop");
  EXPECT_EQ(printable_database("postgresql://h/shop"), "postgresql://h/shop");
  EXPECT_EQ(printable_database("sqlite:shop.db"), "sqlite:shop.db");
}

}  // namespace
}  // namespace outbox::config
