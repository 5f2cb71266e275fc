#include "client/checked_message.h"

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "client/header_text.h"
#include "client/table_name.h"
#include "outbox/error.h"

namespace outbox::client {
namespace {

using namespace std::chrono_literals;

Message order() {
  Message message;
  message.aggregate_type = "order";
  message.aggregate_id = "4711";
  message.type = "OrderConfirmed";
  message.payload = "{}";
  return message;
}

// The text of the refusal; empty if there is none. A refusal never poisons and is never worth a repetition.
std::string refusal(const std::function<void()>& call) {
  try {
    call();
    return {};
  } catch (const Error& error) {
    EXPECT_FALSE(error.poisons_transaction());
    EXPECT_FALSE(error.retryable());
    EXPECT_EQ(error.sql_state(), "");
    return error.what();
  }
}

std::string refusal(const Message& message, const EnqueueOptions& options = {}) {
  return refusal([&] { check_messages(std::span(&message, 1), options); });
}

TEST(CheckedMessage, KeepsAnIdAndMakesOne) {
  std::vector<Message> messages{order(), order()};
  messages[0].id = "0190B8F0-0000-7000-8000-00000000ABCD";
  const auto checked = check_messages(messages, {});
  EXPECT_EQ(uuid_text(checked[0].id), "0190b8f0-0000-7000-8000-00000000abcd");
  EXPECT_EQ(checked[1].id[6] >> 4, 7);
}

TEST(CheckedMessage, RefusesWhatCannotBeStored) {
  const std::vector<std::pair<std::function<void(Message&)>, std::string>> cases = {
      {[](Message& m) { m.id = "m-1"; }, "UUID"},
      {[](Message& m) { m.aggregate_type.clear(); }, "aggregate type is empty"},
      {[](Message& m) { m.aggregate_id.clear(); }, "aggregate id is empty"},
      {[](Message& m) { m.type.clear(); }, "type is empty"},
      {[](Message& m) { m.aggregate_id = std::string(256, 'x'); }, "256 bytes, the limit is 255"},
      {[](Message& m) { m.aggregate_type = std::string("a\0b", 3); }, "aggregate type holds a NUL"},
      {[](Message& m) { m.aggregate_id = std::string("\0", 1); }, "aggregate id holds a NUL"},
      {[](Message& m) { m.type = "\xff"; }, "type is not UTF-8 at byte 0"},
      {[](Message& m) { m.payload = "{\"a\":"; }, "not JSON: expected a value at byte 5"},
      {[](Message& m) { m.payload = std::string("{\"a\":\"\0\"}", 9); }, "control character"},
      {[](Message& m) { m.payload.clear(); }, "not JSON"},
      {[](Message& m) {
         m.headers = {{"", "x"}};
       },
       "no name"},
      {[](Message& m) {
         m.headers = {{std::string("a\0", 2), "x"}};
       },
       "header's name holds a NUL"},
      {[](Message& m) {
         m.headers = {{"a", std::string("\0", 1)}};
       },
       "header's value holds a NUL"},
      {[](Message& m) {
         m.headers = {{"a", "\xc3"}};
       },
       "header's value is not UTF-8"},
      {[](Message& m) { m.traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331"; }, "traceparent"},
      {[](Message& m) { m.not_before = std::chrono::sys_time<std::chrono::microseconds>::max(); }, "not_before"},
      {[](Message& m) { m.not_before = std::chrono::sys_time<std::chrono::microseconds>::min(); }, "not_before"},
  };
  for (const auto& [spoil, expected] : cases) {
    Message message = order();
    spoil(message);
    EXPECT_NE(refusal(message).find(expected), std::string::npos) << expected << ": " << refusal(message);
  }
}

TEST(CheckedMessage, BoundsThePayload) {
  EnqueueOptions options;
  options.max_payload = 1'000'000;
  Message message = order();
  message.payload_is_bytes = true;
  message.payload = std::string(1'000'000, 'x');
  EXPECT_EQ(refusal(message, options), "");
  for (const std::size_t size : {1'000'001UL, 120'000'000UL}) {
    message.payload.resize(size);
    EXPECT_NE(refusal(message, options).find(std::to_string(size) + " bytes, the limit is 1000000"), std::string::npos);
  }
  options.max_payload = 1'000'000'000;
  const std::vector<Message> two(2, message);
  EXPECT_NE(refusal([&] { check_messages(two, options); }).find("one call"), std::string::npos);
}

TEST(CheckedMessage, NamesTheMessageOfSeveral) {
  std::vector<Message> messages(3, order());
  messages[1].type.clear();
  EXPECT_EQ(refusal([&] { check_messages(messages, {}); }), "message 2 of 3: type is empty");
}

TEST(CheckedMessage, TakesAnyBytesWhenTheySayTheyAreBytes) {
  Message message = order();
  message.payload = std::string("\0\xff{", 3);
  message.payload_is_bytes = true;
  EXPECT_EQ(refusal(message), "");
}

TEST(CheckedMessage, JudgesTheTraceContext) {
  const std::string good = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  Message message = order();
  for (const std::string& text : std::vector<std::string>{good, "cc" + good.substr(2) + "-what-comes-later"}) {
    message.traceparent = text;
    EXPECT_EQ(refusal(message), "") << text;
  }
  for (const std::string& text :
       std::vector<std::string>{good + "-more", "ff" + good.substr(2), "cc" + good.substr(2) + ".",
                                good.substr(0, 54) + "G", "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
                                "00-00000000000000000000000000000000-b7ad6b7169203331-01",
                                "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01"}) {
    message.traceparent = text;
    EXPECT_NE(refusal(message), "") << text;
  }
}

TEST(HeaderText, IsAnObjectOfStringsAndArrays) {
  EXPECT_EQ(header_text({}), "{}");
  EXPECT_EQ(header_text({{"b", "1"}, {"a", "x"}, {"b", "2"}, {"b", ""}}), R"({"b":["1","2",""],"a":"x"})");
  EXPECT_EQ(header_text({{"q\"\\", "\r\n\t\x01\x7f\xc3\xa4"}}),
            "{\"q\\\"\\\\\":\"\\u000d\\u000a\\u0009\\u0001\x7f\xc3\xa4\"}");
}

TEST(TableName, IsAPlainIdentifierWithOrWithoutASchema) {
  EXPECT_EQ(quoted(parse_table_name("outbox")), "\"outbox\"");
  EXPECT_EQ(quoted(parse_table_name("shop.billing_outbox")), "\"shop\".\"billing_outbox\"");
  for (const std::string& text : {std::string(), std::string("."), std::string("a."), std::string(".a"),
                                  std::string("a.b.c"), std::string("out box"), std::string("o\"; drop table x; --"),
                                  std::string("1a"), std::string(64, 'x'), std::string("a\0", 2)}) {
    EXPECT_NE(refusal([&] { parse_table_name(text); }), "") << text;
  }
}

}  // namespace
}  // namespace outbox::client
