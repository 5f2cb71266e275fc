#include "support/rabbitmq.h"

#include <amqp_tcp_socket.h>

#include <stdexcept>

namespace outbox::test {
namespace {

constexpr amqp_channel_t kChannel = 1;

amqp_bytes_t to_bytes(const std::string& text) { return {text.size(), const_cast<char*>(text.data())}; }

std::string to_text(amqp_bytes_t bytes) { return {static_cast<const char*>(bytes.bytes), bytes.len}; }

amqp_table_entry_t text_entry(const char* name, const char* value) {
  amqp_table_entry_t entry{};
  entry.key = amqp_cstring_bytes(name);
  entry.value.kind = AMQP_FIELD_KIND_UTF8;
  entry.value.value.bytes = amqp_cstring_bytes(value);
  return entry;
}

amqp_table_entry_t number_entry(const char* name, int value) {
  amqp_table_entry_t entry{};
  entry.key = amqp_cstring_bytes(name);
  entry.value.kind = AMQP_FIELD_KIND_I32;
  entry.value.value.i32 = value;
  return entry;
}

void add_headers(const amqp_table_t& table, std::vector<std::pair<std::string, std::string>>& headers) {
  for (int i = 0; i < table.num_entries; ++i) {
    const amqp_table_entry_t& entry = table.entries[i];
    if (entry.value.kind != AMQP_FIELD_KIND_ARRAY) {
      headers.emplace_back(to_text(entry.key), to_text(entry.value.value.bytes));
      continue;
    }
    const amqp_array_t& array = entry.value.value.array;
    for (int each = 0; each < array.num_entries; ++each) {
      headers.emplace_back(to_text(entry.key) + "[]", to_text(array.entries[each].value.bytes));
    }
  }
}

void add_content(const amqp_message_t& from, RabbitMessage& message) {
  const amqp_basic_properties_t& properties = from.properties;
  message.body = to_text(from.body);
  message.message_id = to_text(properties.message_id);
  message.type = to_text(properties.type);
  message.content_type = to_text(properties.content_type);
  message.delivery_mode = properties.delivery_mode;
  message.timestamp = properties.timestamp;
  add_headers(properties.headers, message.headers);
}

std::string reason(const amqp_rpc_reply_t& reply) {
  if (reply.reply_type != AMQP_RESPONSE_SERVER_EXCEPTION) return amqp_error_string2(reply.library_error);
  // The texts of channel.close and connection.close lie at the same place.
  return to_text(static_cast<amqp_channel_close_t*>(reply.reply.decoded)->reply_text);
}

}  // namespace

std::string RabbitMessage::header(const std::string& name) const {
  for (const auto& [each, value] : headers) {
    if (each == name) return value;
  }
  return {};
}

RabbitClient::RabbitClient(const std::string& url) : state_(amqp_new_connection()) {
  std::string parsed_url = url;
  amqp_connection_info info;
  if (amqp_parse_url(parsed_url.data(), &info) != AMQP_STATUS_OK) throw std::runtime_error("no AMQP URL: " + url);
  amqp_socket_t* socket = amqp_tcp_socket_new(state_);
  if (amqp_socket_open(socket, info.host, info.port) != AMQP_STATUS_OK)
    throw std::runtime_error("no RabbitMQ at " + url);
  const amqp_rpc_reply_t reply =
      amqp_login(state_, "/", 0, 131'072, 0, AMQP_SASL_METHOD_PLAIN, info.user, info.password);
  if (reply.reply_type != AMQP_RESPONSE_NORMAL) throw std::runtime_error("logging in: " + reason(reply));
  amqp_channel_open(state_, kChannel);
  check("opening a channel");
}

RabbitClient::~RabbitClient() {
  amqp_connection_close(state_, AMQP_REPLY_SUCCESS);
  amqp_destroy_connection(state_);
}

void RabbitClient::check(const std::string& doing) const {
  const amqp_rpc_reply_t reply = amqp_get_rpc_reply(state_);
  if (reply.reply_type != AMQP_RESPONSE_NORMAL) throw std::runtime_error(doing + ": " + reason(reply));
  amqp_maybe_release_buffers(state_);
}

void RabbitClient::declare_exchange(const std::string& name, const std::string& type) {
  amqp_exchange_declare(state_, kChannel, to_bytes(name), to_bytes(type), 0, 1, 0, 0, amqp_empty_table);
  check("declaring exchange " + name);
}

void RabbitClient::delete_exchange(const std::string& name) {
  amqp_exchange_delete(state_, kChannel, to_bytes(name), 0);
  check("deleting exchange " + name);
}

void RabbitClient::declare_queue(const std::string& name, QueueType type, int max_length) {
  std::vector<amqp_table_entry_t> arguments{
      text_entry("x-queue-type", type == QueueType::quorum ? "quorum" : "classic")};
  if (max_length > 0) {
    arguments.push_back(number_entry("x-max-length", max_length));
    arguments.push_back(text_entry("x-overflow", "reject-publish"));
  }
  const amqp_table_t table{static_cast<int>(arguments.size()), arguments.data()};
  amqp_queue_declare(state_, kChannel, to_bytes(name), 0, 1, 0, 0, table);
  check("declaring queue " + name);
}

void RabbitClient::delete_queue(const std::string& name) {
  amqp_queue_delete(state_, kChannel, to_bytes(name), 0, 0);
  check("deleting queue " + name);
}

void RabbitClient::bind(const std::string& queue, const std::string& exchange, const std::string& routing_key) {
  amqp_queue_bind(state_, kChannel, to_bytes(queue), to_bytes(exchange), to_bytes(routing_key), amqp_empty_table);
  check("binding queue " + queue);
}

std::uint32_t RabbitClient::count(const std::string& queue) {
  const auto* declared = amqp_queue_declare(state_, kChannel, to_bytes(queue), 1, 0, 0, 0, amqp_empty_table);
  const std::uint32_t messages = declared == nullptr ? 0 : declared->message_count;
  check("counting queue " + queue);
  return messages;
}

void RabbitClient::purge(const std::string& queue) {
  amqp_queue_purge(state_, kChannel, to_bytes(queue));
  check("purging queue " + queue);
}

std::vector<RabbitMessage> RabbitClient::take(const std::string& queue) {
  std::vector<RabbitMessage> taken;
  for (;;) {
    const amqp_rpc_reply_t reply = amqp_basic_get(state_, kChannel, to_bytes(queue), 1);
    if (reply.reply_type != AMQP_RESPONSE_NORMAL)
      throw std::runtime_error("reading queue " + queue + ": " + reason(reply));
    if (reply.reply.id == AMQP_BASIC_GET_EMPTY_METHOD) return taken;
    const auto& got = *static_cast<amqp_basic_get_ok_t*>(reply.reply.decoded);
    taken.emplace_back();
    taken.back().exchange = to_text(got.exchange);
    taken.back().routing_key = to_text(got.routing_key);
    amqp_message_t message;
    const amqp_rpc_reply_t read = amqp_read_message(state_, kChannel, &message, 0);
    if (read.reply_type != AMQP_RESPONSE_NORMAL)
      throw std::runtime_error("reading queue " + queue + ": " + reason(read));
    add_content(message, taken.back());
    amqp_destroy_message(&message);
    amqp_maybe_release_buffers(state_);
  }
}

void RabbitClient::publish(const std::string& exchange, const std::string& routing_key, const std::string& body) {
  const int status =
      amqp_basic_publish(state_, kChannel, to_bytes(exchange), to_bytes(routing_key), 0, 0, nullptr, to_bytes(body));
  if (status != AMQP_STATUS_OK) throw std::runtime_error(std::string("publishing: ") + amqp_error_string2(status));
}

}  // namespace outbox::test
