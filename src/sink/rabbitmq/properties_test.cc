#include "sink/rabbitmq/properties.h"

#include <gtest/gtest.h>

namespace outbox::rabbitmq {
namespace {

constexpr std::size_t kFrameMax = 131'072;

std::string text(amqp_bytes_t bytes) { return {static_cast<const char*>(bytes.bytes), bytes.len}; }

Record record_with(const std::string& headers) {
  Record record;
  record.id = "m-1";
  record.aggregate_type = "order";
  record.aggregate_id = "o-1";
  record.type = "Placed";
  record.headers = headers;
  record.created_at = Time(1'700'000'000'999'999us);
  return record;
}

std::string refusal(const Record& record) {
  const HeaderList headers = wire_headers(record).value();
  const auto refused = Properties(record, headers).refusal(kFrameMax);
  return refused ? refused->reason : "";
}

TEST(RabbitMqProperties, AreThoseOfTheInterface) {
  const Record record = record_with(R"({"tenant":"t1","tag":["a","b","c"],"tier":"x"})");
  const HeaderList headers = wire_headers(record).value();
  const Properties properties(record, headers);
  const amqp_basic_properties_t& got = properties.get();
  EXPECT_EQ(got.delivery_mode, 2) << "persistent";
  EXPECT_EQ(text(got.message_id), "m-1");
  EXPECT_EQ(text(got.type), "Placed");
  EXPECT_EQ(text(got.content_type), "application/json");
  EXPECT_EQ(got.timestamp, 1'700'000'000u);
  std::string names;
  for (int i = 0; i < got.headers.num_entries; ++i) names += text(got.headers.entries[i].key) + " ";
  EXPECT_EQ(names, "message-id message-type aggregate-type aggregate-id content-type tenant tag tier ");
  const amqp_field_value_t& tags = got.headers.entries[6].value;
  ASSERT_EQ(tags.kind, AMQP_FIELD_KIND_ARRAY);
  ASSERT_EQ(tags.value.array.num_entries, 3);
  EXPECT_EQ(text(tags.value.array.entries[2].value.bytes), "c");
  EXPECT_FALSE(properties.refusal(kFrameMax));
}

TEST(RabbitMqProperties, ARowsOwnContentTypeCounts) {
  const Record record = record_with(R"({"Content-Type":"text/xml"})");
  const HeaderList headers = wire_headers(record).value();
  EXPECT_EQ(text(Properties(record, headers).get().content_type), "text/xml");
}

TEST(RabbitMqProperties, WhatTheProtocolCannotCarryIsRefused) {
  EXPECT_EQ(refusal(record_with("")), "");
  Record record = record_with("");
  record.type.assign(256, 't');
  EXPECT_EQ(refusal(record), "property_too_long");
  EXPECT_EQ(refusal(record_with(R"({"content-type":")" + std::string(256, 'c') + "\"}")), "property_too_long");
  EXPECT_EQ(refusal(record_with("{\"" + std::string(256, 'h') + R"(":"v"})")), "bad_headers");
  EXPECT_EQ(refusal(record_with(R"({"big":")" + std::string(kFrameMax, 'v') + "\"}")), "headers_too_large");
}

// RabbitMQ would send the message to these queues, too, or close the channel.
TEST(RabbitMqProperties, NoMessageChoosesFurtherQueues) {
  EXPECT_EQ(refusal(record_with(R"({"CC":["other"]})")), "bad_headers");
  EXPECT_EQ(refusal(record_with(R"({"BCC":"other"})")), "bad_headers");
  EXPECT_EQ(refusal(record_with(R"({"cc":"fine"})")), "");
}

// The size that is checked is the one that librabbitmq writes.
TEST(RabbitMqProperties, TheSizeIsExact) {
  const Record record = record_with(R"({"tenant":"t1","tag":["a","b","c"]})");
  const HeaderList headers = wire_headers(record).value();
  const Properties properties(record, headers);
  std::string buffer(4096, '\0');
  const amqp_bytes_t encoded{buffer.size(), buffer.data()};
  auto copy = properties.get();
  const int size = amqp_encode_properties(AMQP_BASIC_CLASS, &copy, encoded);
  EXPECT_EQ(properties.encoded_size(), static_cast<std::size_t>(size) + 12) << "class, weight and size come before";
}

}  // namespace
}  // namespace outbox::rabbitmq
