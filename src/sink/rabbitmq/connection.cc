#include "sink/rabbitmq/connection.h"

#include <amqp_tcp_socket.h>
#include <fmt/core.h>
#include <poll.h>

#include "base/text.h"
#include "sink/rabbitmq/tcp.h"

namespace outbox::rabbitmq {
namespace {

constexpr int kFrameMax = 131'072;
constexpr int kChannelMax = 16;
constexpr std::size_t kRoom = 32u << 10;  // a socket that is writable takes so much
constexpr timeval kGoodbye{0, 200'000};
constexpr std::chrono::milliseconds kGoodbyeLimit{300};

timeval to_timeval(std::chrono::milliseconds time) {
  return {time.count() / 1000, static_cast<suseconds_t>(time.count() % 1000 * 1000)};
}

std::string to_text(amqp_bytes_t bytes) { return one_line({static_cast<const char*>(bytes.bytes), bytes.len}); }

amqp_bytes_t to_bytes(std::string_view text) { return {text.size(), const_cast<char*>(text.data())}; }

amqp_table_entry_t flag(const char* name) {
  amqp_table_entry_t entry{};
  entry.key = amqp_cstring_bytes(name);
  entry.value.kind = AMQP_FIELD_KIND_BOOLEAN;
  entry.value.value.boolean = 1;
  return entry;
}

std::string_view reason_of(int status) {
  switch (status) {
    case AMQP_STATUS_HOSTNAME_RESOLUTION_FAILED: return "dns";
    case AMQP_STATUS_HEARTBEAT_TIMEOUT: return "heartbeat_lost";
    case AMQP_STATUS_TIMEOUT: return "timeout";
    default: return "connection_lost";
  }
}

std::string_view reason_of_close(int code) {
  return code == AMQP_ACCESS_REFUSED || code == AMQP_NOT_ALLOWED ? "access_refused" : "connection_closed";
}

}  // namespace

Connection::Connection(const Settings& settings, std::chrono::milliseconds write_patience, Lifeline& lifeline)
    : settings_(settings), write_patience_(write_patience), lifeline_(lifeline), state_(amqp_new_connection()) {
  OUTBOX_ASSERT(state_ != nullptr);
}

Connection::~Connection() {
  lifeline_.detach();  // so that no farewell of librabbitmq's waits
  amqp_destroy_connection(state_);
}

std::variant<std::unique_ptr<Connection>, Fault> Connection::open(const Settings& settings,
                                                                  std::chrono::milliseconds write_patience,
                                                                  Lifeline& lifeline) {
  std::unique_ptr<Connection> connection(new Connection(settings, write_patience, lifeline));
  if (auto fault = settings.tls ? connection->connect_tls() : connection->connect_plain()) return std::move(*fault);
  if (auto fault = connection->log_in()) return std::move(*fault);
  return connection;
}

std::optional<Fault> Connection::connect_plain() {
  auto connected = connect_tcp(settings_.host, settings_.port, settings_.connect_timeout, lifeline_.cut_event());
  if (!connected) {
    return Fault{"unreachable", fmt::format("{}: {}", settings_.endpoint(), connected.failure().what)};
  }
  amqp_socket_t* socket = amqp_tcp_socket_new(state_);
  OUTBOX_ASSERT(socket != nullptr);
  fd_ = *connected;
  amqp_tcp_socket_set_sockfd(socket, fd_);
  lifeline_.attach(fd_);
  return std::nullopt;
}

std::optional<Fault> Connection::log_in() {
  const timeval timeout = to_timeval(settings_.connect_timeout);
  amqp_set_handshake_timeout(state_, &timeout);
  amqp_set_rpc_timeout(state_, &timeout);
  amqp_table_entry_t capabilities[] = {flag("publisher_confirms"), flag("basic.nack"), flag("connection.blocked")};
  amqp_table_entry_t properties[2] = {};
  properties[0].key = amqp_cstring_bytes("capabilities");
  properties[0].value.kind = AMQP_FIELD_KIND_TABLE;
  properties[0].value.value.table = {std::size(capabilities), capabilities};
  const std::string name = "outboxd " + settings_.sink;
  properties[1].key = amqp_cstring_bytes("connection_name");
  properties[1].value.kind = AMQP_FIELD_KIND_UTF8;
  properties[1].value.value.bytes = to_bytes(name);
  const amqp_table_t table{std::size(properties), properties};
  const amqp_rpc_reply_t reply = amqp_login_with_properties(
      state_, settings_.vhost.c_str(), kChannelMax, kFrameMax, static_cast<int>(settings_.heartbeat.count()), &table,
      AMQP_SASL_METHOD_PLAIN, settings_.user.c_str(), settings_.password.c_str());
  if (auto fault = to_fault(reply, "logging in")) return fault;
  frame_max_ = static_cast<std::size_t>(amqp_get_frame_max(state_));
  return std::nullopt;
}

std::optional<Fault> Connection::open_channel(Channel channel) {
  const Limit limit(lifeline_, write_patience_ + settings_.connect_timeout);
  amqp_channel_open(state_, channel);
  if (auto fault = to_fault(amqp_get_rpc_reply(state_), "opening a channel")) return fault;
  amqp_confirm_select(state_, channel);
  return to_fault(amqp_get_rpc_reply(state_), "asking for confirmations");
}

bool Connection::has_room() {
  if (room_ > 0) return true;
  pollfd socket{fd_, POLLOUT, 0};
  full_ = ::poll(&socket, 1, 0) != 1;
  room_ = full_ ? 0 : kRoom;  // if the socket has failed, writing says how
  return !full_;
}

std::optional<Fault> Connection::publish(Channel channel, const std::string& exchange, const std::string& routing_key,
                                         const Properties& properties, std::string_view payload) {
  const std::size_t size = properties.encoded_size() + payload.size();
  std::optional<Limit> limit;
  if (size > room_) limit.emplace(lifeline_, write_patience_);
  room_ -= std::min(room_, size);
  const int status = amqp_basic_publish(state_, channel, to_bytes(exchange), to_bytes(routing_key), 1, 0,
                                        &properties.get(), to_bytes(payload));
  if (status == AMQP_STATUS_OK) return std::nullopt;
  return to_fault(status, "publishing");
}

std::optional<Fault> Connection::mark(Channel channel) {
  amqp_confirm_select_t select{};
  const int status = amqp_send_method(state_, channel, AMQP_CONFIRM_SELECT_METHOD, &select);
  if (status == AMQP_STATUS_OK) return std::nullopt;
  return to_fault(status, "publishing");
}

void Connection::say_goodbye() {
  const Limit limit(lifeline_, kGoodbyeLimit);
  amqp_set_rpc_timeout(state_, &kGoodbye);
  amqp_connection_close(state_, AMQP_REPLY_SUCCESS);
}

Fault Connection::to_fault(int status, std::string_view doing) const {
  if (lifeline_.expired()) {
    return {"blocked",
            fmt::format("{}: the broker takes no bytes; see its alarms (memory, disk)", settings_.endpoint())};
  }
  return {std::string(reason_of(status)),
          fmt::format("{}: {} failed: {}", settings_.endpoint(), doing, amqp_error_string2(status))};
}

std::optional<Fault> Connection::to_fault(const amqp_rpc_reply_t& reply, std::string_view doing) {
  if (reply.reply_type == AMQP_RESPONSE_NORMAL) return std::nullopt;
  if (reply.reply_type != AMQP_RESPONSE_SERVER_EXCEPTION) return to_fault(reply.library_error, doing);
  if (reply.reply.id == AMQP_CONNECTION_CLOSE_METHOD) {
    const auto& close = *static_cast<amqp_connection_close_t*>(reply.reply.decoded);
    return Fault{std::string(reason_of_close(close.reply_code)),
                 fmt::format("{}: {}", settings_.endpoint(), to_text(close.reply_text)), close.reply_code};
  }
  const auto& close = *static_cast<amqp_channel_close_t*>(reply.reply.decoded);
  return Fault{"channel_refused",
               fmt::format("{}: {} failed: {}", settings_.endpoint(), doing, to_text(close.reply_text))};
}

}  // namespace outbox::rabbitmq
