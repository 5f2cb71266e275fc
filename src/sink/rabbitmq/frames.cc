// What the broker sends: frames into events.
#include <amqp.h>
#include <fmt/core.h>

#include "base/text.h"
#include "sink/rabbitmq/connection.h"

namespace outbox::rabbitmq {
namespace {

std::string to_text(amqp_bytes_t bytes) { return one_line({static_cast<const char*>(bytes.bytes), bytes.len}); }

Event confirmed(Channel channel, std::uint64_t tag, bool multiple, bool acked) {
  Event event;
  event.kind = Event::Kind::confirmed;
  event.channel = channel;
  event.tag = tag;
  event.multiple = multiple;
  event.acked = acked;
  return event;
}

Event said(Event::Kind kind, Channel channel, int code, std::string text) {
  Event event;
  event.kind = kind;
  event.channel = channel;
  event.code = code;
  event.text = std::move(text);
  return event;
}

template <class T>
const T& decoded(const amqp_frame_t& frame) {
  return *static_cast<const T*>(frame.payload.method.decoded);
}

}  // namespace

std::variant<std::optional<Event>, Fault> Connection::read() {
  for (;;) {
    amqp_frame_t frame{};
    const int status = next_frame(frame);
    if (status == AMQP_STATUS_TIMEOUT) {
      amqp_maybe_release_buffers(state_);
      return std::nullopt;
    }
    if (status != AMQP_STATUS_OK) return to_fault(status, "reading");
    auto taken = take(frame);
    amqp_maybe_release_buffers_on_channel(state_, frame.channel);
    const auto* event = std::get_if<std::optional<Event>>(&taken);
    if (event == nullptr || event->has_value()) return taken;
  }
}

// It sends a heartbeat first when one is due, and waits for room to do so.
int Connection::next_frame(amqp_frame_t& frame) {
  std::optional<Limit> limit;
  if (full_) limit.emplace(lifeline_, write_patience_);
  const timeval now{};
  return amqp_simple_wait_frame_noblock(state_, &frame, &now);
}

std::variant<std::optional<Event>, Fault> Connection::take(const amqp_frame_t& frame) {
  if (frame.frame_type == AMQP_FRAME_METHOD) return take_method(frame);
  if (returned_ && frame.channel == returned_channel_) return take_returned_content(frame);
  return std::nullopt;
}

std::variant<std::optional<Event>, Fault> Connection::take_method(const amqp_frame_t& frame) {
  using Kind = Event::Kind;
  switch (frame.payload.method.id) {
    case AMQP_BASIC_ACK_METHOD: {
      const auto& ack = decoded<amqp_basic_ack_t>(frame);
      return confirmed(frame.channel, ack.delivery_tag, ack.multiple != 0, true);
    }
    case AMQP_BASIC_NACK_METHOD: {
      const auto& nack = decoded<amqp_basic_nack_t>(frame);
      return confirmed(frame.channel, nack.delivery_tag, nack.multiple != 0, false);
    }
    case AMQP_BASIC_RETURN_METHOD: {
      const auto& back = decoded<amqp_basic_return_t>(frame);
      returned_channel_ = frame.channel;
      returned_ = Returned{
          said(Kind::returned, frame.channel, back.reply_code,
               fmt::format("no queue takes it from exchange '{}' with routing key '{}' ({} {})", to_text(back.exchange),
                           to_text(back.routing_key), back.reply_code, to_text(back.reply_text))),
          0};
      return std::nullopt;
    }
    case AMQP_CONFIRM_SELECT_OK_METHOD: return said(Kind::selected, frame.channel, 0, {});
    case AMQP_CONNECTION_BLOCKED_METHOD:
      return said(Kind::blocked, 0, 0, to_text(decoded<amqp_connection_blocked_t>(frame).reason));
    case AMQP_CONNECTION_UNBLOCKED_METHOD: return said(Kind::unblocked, 0, 0, {});
    case AMQP_CHANNEL_CLOSE_METHOD: {
      const auto& close = decoded<amqp_channel_close_t>(frame);
      Event event = said(Kind::channel_closed, frame.channel, close.reply_code, to_text(close.reply_text));
      amqp_channel_close_ok_t ok{};
      const int status = amqp_send_method(state_, frame.channel, AMQP_CHANNEL_CLOSE_OK_METHOD, &ok);
      if (status != AMQP_STATUS_OK) return to_fault(status, "closing a channel");
      return event;
    }
    case AMQP_CONNECTION_CLOSE_METHOD: {
      const auto& close = decoded<amqp_connection_close_t>(frame);
      Fault fault{"connection_closed", fmt::format("{}: {}", settings_.endpoint(), to_text(close.reply_text)),
                  close.reply_code};
      amqp_connection_close_ok_t ok{};
      amqp_send_method(state_, 0, AMQP_CONNECTION_CLOSE_OK_METHOD, &ok);  // it ends either way
      return fault;
    }
    default: return std::nullopt;
  }
}

// A returned message comes back whole: properties, then the payload in pieces, which nobody needs.
std::optional<Event> Connection::take_returned_content(const amqp_frame_t& frame) {
  if (frame.frame_type == AMQP_FRAME_HEADER) {
    const auto& properties = *static_cast<const amqp_basic_properties_t*>(frame.payload.properties.decoded);
    const amqp_bytes_t id = properties.message_id;
    returned_->event.message_id.assign(static_cast<const char*>(id.bytes), id.len);
    returned_->body_left = frame.payload.properties.body_size;
  } else {
    returned_->body_left -= frame.payload.body_fragment.len;
  }
  if (returned_->body_left > 0) return std::nullopt;
  Event event = std::move(returned_->event);
  returned_.reset();
  return event;
}

}  // namespace outbox::rabbitmq
