#include "sink/nats/message_headers.h"

#include <gtest/gtest.h>

namespace outbox::nats {
namespace {

Record record() {
  Record made;
  made.id = "m-1";
  made.aggregate_type = "order";
  made.aggregate_id = "17";
  made.type = "Placed";
  return made;
}

TEST(MessageHeaders, BeginWithTheIdByWhichTheStreamDropsRepeats) {
  Record message = record();
  message.headers = R"({"tenant":"acme","tag":["a","b"]})";
  const Result<HeaderList> headers = message_headers(message);
  ASSERT_TRUE(headers);
  EXPECT_EQ(*headers, (HeaderList{{"Nats-Msg-Id", "m-1"},
                                  {"message-id", "m-1"},
                                  {"message-type", "Placed"},
                                  {"aggregate-type", "order"},
                                  {"aggregate-id", "17"},
                                  {"content-type", "application/json"},
                                  {"tenant", "acme"},
                                  {"tag", "a"},
                                  {"tag", "b"}}));
}

TEST(MessageHeaders, ARowCannotSetWhatTheServerActsOn) {
  for (const std::string json : {R"({"Nats-Rollup":"all"})", R"({"nats-msg-id":"x"})",
                                 R"({"Nats-Expected-Stream":"x"})", R"({"Authorization":"x"})"}) {
    Record message = record();
    message.headers = json;
    const Result<HeaderList> headers = message_headers(message);
    ASSERT_FALSE(headers) << json;
    EXPECT_NE(headers.failure().what.find("cannot be set by a message"), std::string::npos);
  }
}

TEST(MessageHeaders, ALineBreakMakesNoOtherHeader) {
  for (const std::string json : {R"({"a":"x\r\nb: y"})", R"({"a":"x\ny"})", R"({"a":"x\ry"})", R"({"a b":"x"})",
                                 R"({"a:b":"x"})", R"({"a\r\nb":"x"})"}) {
    Record message = record();
    message.headers = json;
    EXPECT_FALSE(message_headers(message)) << json;
  }
  Record message = record();
  message.aggregate_id = "17\nNats-Rollup: all";
  EXPECT_FALSE(message_headers(message));
  message = record();
  message.id = std::string("m\0n", 3);
  EXPECT_FALSE(message_headers(message));
}

TEST(MessageHeaders, HeadersThatAreNoObjectOfStringsAreRefused) {
  Record message = record();
  message.headers = R"({"tenant":7})";
  EXPECT_FALSE(message_headers(message));
}

}  // namespace
}  // namespace outbox::nats
