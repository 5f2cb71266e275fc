#include "rabbit_publisher.h"

#include <amqp_tcp_socket.h>

#include <array>
#include <stdexcept>

namespace outbox::bench {

namespace {

constexpr amqp_channel_t kChannel = 1;

amqp_bytes_t to_bytes(std::string_view text) { return {text.size(), const_cast<char*>(text.data())}; }

amqp_table_entry_t header(const char* name, std::string_view value) {
  amqp_table_entry_t entry{};
  entry.key = amqp_cstring_bytes(name);
  entry.value.kind = AMQP_FIELD_KIND_UTF8;
  entry.value.value.bytes = to_bytes(value);
  return entry;
}

void check(bool fine, const char* what) {
  if (!fine) throw std::runtime_error(std::string("librabbitmq: ") + what);
}

}  // namespace

RabbitPublisher::RabbitPublisher(const std::string& url, std::string queue, int window)
    : state_(amqp_new_connection()), queue_(std::move(queue)), window_(static_cast<std::uint64_t>(window)) {
  std::string parsed = url;
  amqp_connection_info info;
  check(amqp_parse_url(parsed.data(), &info) == AMQP_STATUS_OK, "no AMQP URL");
  check(amqp_socket_open(amqp_tcp_socket_new(state_), info.host, info.port) == AMQP_STATUS_OK, "no connection");
  const auto reply = amqp_login(state_, "/", 0, 131'072, 10, AMQP_SASL_METHOD_PLAIN, info.user, info.password);
  check(reply.reply_type == AMQP_RESPONSE_NORMAL, "no login");
  check(amqp_channel_open(state_, kChannel) != nullptr, "no channel");
  check(amqp_confirm_select(state_, kChannel) != nullptr, "no confirmations");
}

RabbitPublisher::~RabbitPublisher() {
  amqp_connection_close(state_, AMQP_REPLY_SUCCESS);
  amqp_destroy_connection(state_);
}

void RabbitPublisher::send(const Row& row) {
  while (sent_ - confirmed_ - out_of_order_ >= window_) wait_for_confirmation();
  std::array headers{header("message-id", row.id), header("message-type", row.type),
                     header("aggregate-type", row.aggregate_type), header("aggregate-id", row.aggregate_id),
                     header("content-type", "application/json")};
  amqp_basic_properties_t properties{};
  properties._flags = AMQP_BASIC_DELIVERY_MODE_FLAG | AMQP_BASIC_MESSAGE_ID_FLAG | AMQP_BASIC_TYPE_FLAG |
                      AMQP_BASIC_CONTENT_TYPE_FLAG | AMQP_BASIC_TIMESTAMP_FLAG | AMQP_BASIC_HEADERS_FLAG;
  properties.delivery_mode = 2;
  properties.message_id = to_bytes(row.id);
  properties.type = to_bytes(row.type);
  properties.content_type = amqp_cstring_bytes("application/json");
  properties.timestamp = static_cast<std::uint64_t>(row.created_us / 1'000'000);
  properties.headers = {static_cast<int>(headers.size()), headers.data()};
  check(amqp_basic_publish(state_, kChannel, amqp_empty_bytes, to_bytes(queue_), 1, 0, &properties,
                           to_bytes(row.payload)) == AMQP_STATUS_OK,
        "publishing failed");
  ++sent_;
}

void RabbitPublisher::flush() {
  while (sent_ > confirmed_ + out_of_order_) wait_for_confirmation();
}

void RabbitPublisher::wait_for_confirmation() {
  amqp_frame_t frame;
  check(amqp_simple_wait_frame(state_, &frame) == AMQP_STATUS_OK, "reading failed");
  check(frame.frame_type == AMQP_FRAME_METHOD && frame.payload.method.id == AMQP_BASIC_ACK_METHOD, "not confirmed");
  const auto& ack = *static_cast<amqp_basic_ack_t*>(frame.payload.method.decoded);
  if (ack.multiple == 0 && ack.delivery_tag != confirmed_ + 1) {
    ++out_of_order_;
  } else if (ack.multiple == 0) {
    ++confirmed_;
  } else if (ack.delivery_tag > confirmed_ + out_of_order_) {  // what came out of order lies below it
    confirmed_ = ack.delivery_tag;
    out_of_order_ = 0;
  }
  amqp_maybe_release_buffers(state_);
}

}  // namespace outbox::bench
