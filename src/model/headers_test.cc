#include "model/headers.h"

#include <gtest/gtest.h>

namespace outbox {
namespace {

Record order() {
  Record record;
  record.id = "m-1";
  record.type = "OrderConfirmed";
  record.aggregate_type = "order";
  record.aggregate_id = "4711";
  return record;
}

HeaderList parsed(std::string_view json) {
  auto list = parse_headers(json);
  EXPECT_TRUE(list) << json << ": " << (list ? "" : list.failure().what);
  return list ? *list : HeaderList{};
}

TEST(ParseHeaders, AbsentHeadersAreAnEmptyList) {
  EXPECT_TRUE(parsed("").empty());
  EXPECT_TRUE(parsed("{}").empty());
  EXPECT_TRUE(parsed(" { } ").empty());
}

TEST(ParseHeaders, KeepsTheOrderAndRepeatsArrays) {
  const HeaderList expected{{"z", "1"}, {"a", "2"}, {"a", "3"}, {"m", "\xC3\xA9\n"}};
  EXPECT_EQ(parsed(R"({"z":"1","a":["2","3"],"none":[],"m":"\u00e9\n"})"), expected);
}

TEST(ParseHeaders, ANameGivenTwiceIsARepeatedHeader) {
  EXPECT_EQ(parsed(R"({"a":"1","a":"2"})"), (HeaderList{{"a", "1"}, {"a", "2"}}));
}

TEST(ParseHeaders, RefusesEverythingElse) {
  for (const char* json : {"null", "[]", "\"a\"", "1", R"({"a":1})", R"({"a":null})", R"({"a":true})", R"({"a":{}})",
                           R"({"a":[["b"]]})", R"({"a":[1]})", R"({"":"b"})", R"({"a":"x\u0000y"})",
                           R"({"a\u0000":"b"})", R"({"a":"b")", R"({"a":"b"} x)", "{a:1}", "  "}) {
    auto list = parse_headers(json);
    ASSERT_FALSE(list) << json;
    EXPECT_EQ(list.failure().kind, FailureKind::invalid) << json;
  }
}

TEST(WireHeaders, ColumnsComeFirstThenTheRowsOwn) {
  Record record = order();
  record.headers = R"({"tenant":"t1"})";
  record.aggregate_version = 3;
  record.schema_version = 2;
  record.traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  const HeaderList expected{{"message-id", "m-1"},    {"message-type", "OrderConfirmed"},   {"aggregate-type", "order"},
                            {"aggregate-id", "4711"}, {"content-type", "application/json"}, {"aggregate-version", "3"},
                            {"schema-version", "2"},  {"traceparent", record.traceparent},  {"tenant", "t1"}};
  EXPECT_EQ(*wire_headers(record), expected);
}

TEST(WireHeaders, ContentTypeFollowsTheColumnUnlessTheRowSaysIt) {
  Record record = order();
  record.payload_json = false;
  EXPECT_EQ(wire_headers(record)->at(4).second, "application/octet-stream");
  record.headers = R"({"Content-Type":"text/xml"})";
  const HeaderList list = *wire_headers(record);
  ASSERT_EQ(list.size(), 5u);
  EXPECT_EQ(list[4], (std::pair<std::string, std::string>("Content-Type", "text/xml")));
}

TEST(WireHeaders, AColumnCountsMoreThanAHeaderOfItsName) {
  Record record = order();
  record.headers = R"({"Message-Id":"forged","traceparent":"from-the-row"})";
  const HeaderList list = *wire_headers(record);
  EXPECT_EQ(list[0].second, "m-1");
  ASSERT_EQ(list.size(), 6u);
  EXPECT_EQ(list[5].second, "from-the-row");
}

TEST(ReservedHeader, IsComparedWithoutCase) {
  for (const char* name : {"Host", "content-length", "TRANSFER-ENCODING", "Connection", "Authorization", "Webhook-Id",
                           "webhook-", "Nats-Msg-Id"}) {
    EXPECT_TRUE(reserved_header(name)) << name;
  }
  for (const char* name : {"hosts", "x-host", "webhook", "natsy", "content-type", ""}) {
    EXPECT_FALSE(reserved_header(name)) << name;
  }
}

TEST(Headers, OneIsSetBesideTheOthers) {
  EXPECT_EQ(*with_header("", "replaces", "a"), R"({"replaces":"a"})");
  EXPECT_EQ(*with_header("{}", "replaces", "a"), R"({"replaces":"a"})");
  EXPECT_EQ(*with_header(R"({"b":"","a":["x","y"],"Replaces":"old"})", "replaces", "n\"ew"),
            R"({"b":"","a":["x","y"],"replaces":"n\"ew"})");
  EXPECT_EQ(*with_header(R"({"a":["x"],"none":[]})", "replaces", "1"), R"({"a":"x","replaces":"1"})");
  EXPECT_FALSE(with_header("[]", "replaces", "1"));
}

}  // namespace
}  // namespace outbox
