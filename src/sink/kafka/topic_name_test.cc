#include "sink/kafka/topic_name.h"

#include <gtest/gtest.h>

namespace outbox::kafka {
namespace {

TEST(TopicName, LegalOnesPass) {
  for (const char* name : {"orders", "outbox.event.order", "A_b-C.9", "...", "_", "-"}) {
    EXPECT_EQ(topic_name_problem(name), std::nullopt) << name;
  }
  EXPECT_EQ(topic_name_problem(std::string(249, 'x')), std::nullopt);
}

// Case B129.
TEST(TopicName, IllegalOnesAreNamed) {
  for (const char* name : {"", ".", "..", "orders ", "a/b", "a,b", "größe", "a\nb"}) {
    EXPECT_NE(topic_name_problem(name), std::nullopt) << name;
  }
  EXPECT_EQ(topic_name_problem(std::string(250, 'x')), "the topic name has 250 characters, Kafka allows 249");
  EXPECT_EQ(topic_name_problem("orders "),
            "the topic name holds byte 0x20 at 6; legal are letters, digits, '.', '_' and '-'");
}

TEST(TopicName, TemplatesAreCheckedAroundTheirFields) {
  for (const char* address : {"orders", "outbox.event.{aggregate_type}", "{type}", ".{type}"}) {
    EXPECT_TRUE(check_topic_template(address)) << address;
  }
  for (const std::string& address :
       {std::string("orders "), std::string("a/{type}"), std::string(".."), std::string(249, 'x') + "{type}"}) {
    EXPECT_FALSE(check_topic_template(address)) << address;
  }
}

}  // namespace
}  // namespace outbox::kafka
