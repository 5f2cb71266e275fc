#include "sink/file/json_line.h"

#include <gtest/gtest.h>

namespace outbox::file {
namespace {

Record order() {
  Record record;
  record.id = "m-1";
  record.aggregate_type = "order";
  record.aggregate_id = "4711";
  record.type = "OrderConfirmed";
  record.payload = R"({"total":1.0})";
  record.created_at = Time(1'700'000'000'000'042us);
  return record;
}

std::string line(const Record& record) {
  std::string out;
  const auto done = append_json_line(record, out);
  EXPECT_TRUE(done) << (done ? "" : done.failure().what);
  return out;
}

const std::string kStart = R"({"id":"m-1","aggregate_type":"order","aggregate_id":"4711","type":"OrderConfirmed",)"
                           R"("created_at":"2023-11-14T22:13:20.000042Z",)";

TEST(JsonLine, HasTheFieldsOfTheInterface) {
  EXPECT_EQ(line(order()), kStart + R"("headers":{},"payload":{"total":1.0}})" + "\n");
}

TEST(JsonLine, HasWhatTheRecordHas) {
  Record record = order();
  record.aggregate_version = 7;
  record.schema_version = 2;
  record.traceparent = "00-ab-cd-01";
  record.headers = "{\"b\":\"1\",\n\"a\":[\"2\",\"3\"]}";
  EXPECT_EQ(line(record), kStart + R"("aggregate_version":7,"schema_version":2,"traceparent":"00-ab-cd-01",)" +
                              R"("headers":{"b":"1", "a":["2","3"]},"payload":{"total":1.0}})" + "\n");
}

TEST(JsonLine, NullEmptyAndTheTextNullAreToldApart) {
  Record record = order();
  record.payload = "null";
  EXPECT_EQ(line(record), kStart + R"("headers":{},"payload":null})" + "\n");
  record.payload = "";
  EXPECT_EQ(line(record), kStart + R"("headers":{},"payload_base64":""})" + "\n");
  record.payload_null = true;
  EXPECT_EQ(line(record), kStart + R"("headers":{}})" + "\n");
}

TEST(JsonLine, BytesAndBrokenJsonAreBase64) {
  Record record = order();
  record.payload_json = false;
  record.payload = "{}";
  EXPECT_EQ(line(record), kStart + R"("headers":{},"payload_base64":"e30="})" + "\n");
  record.payload_json = true;
  record.payload = "{\n";
  EXPECT_EQ(line(record), kStart + R"("headers":{},"payload_base64":"ewo="})" + "\n");
}

TEST(JsonLine, TextIsEscaped) {
  Record record = order();
  record.aggregate_id = "a\"\n\xFF";
  EXPECT_NE(line(record).find("\"aggregate_id\":\"a\\\"\\n\xEF\xBF\xBD\""), std::string::npos);
}

TEST(JsonLine, BadHeadersAreRefusedAndLeaveTheOutput) {
  Record record = order();
  for (const char* headers : {"[]", "{\"a\":1}", "{"}) {
    record.headers = headers;
    std::string out = "before";
    const auto done = append_json_line(record, out);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.failure().kind, FailureKind::invalid);
    EXPECT_EQ(out, "before");
  }
}

}  // namespace
}  // namespace outbox::file
