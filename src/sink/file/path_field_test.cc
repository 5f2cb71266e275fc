#include "sink/file/path_field.h"

#include <gtest/gtest.h>

namespace outbox::file {
namespace {

TEST(PathField, IsOneNameInsideAFolder) {
  EXPECT_EQ(escape_path_field("order 4711.v2"), "order 4711.v2");
  EXPECT_EQ(escape_path_field("../../etc/passwd"), "..%2F..%2Fetc%2Fpasswd");
  EXPECT_EQ(escape_path_field(".."), "%2E%2E");
  EXPECT_EQ(escape_path_field("."), "%2E");
  EXPECT_EQ(escape_path_field(""), "%");
  EXPECT_EQ(escape_path_field(std::string_view("a\0b\n%", 5)), "a%00b%0A%25");
}

}  // namespace
}  // namespace outbox::file
