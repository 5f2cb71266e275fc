// Connection: one connection to the broker, from its opening to its end, over librabbitmq. A thin layer: it knows the
// protocol's frames and nothing of what is published.
//
// One thread. Opening it and its channels waits for the broker, at most as long as the settings say. Writing waits
// while the socket is full, for at most `write_patience`; with has_room() asked first, only a large message can. read()
// does not wait. Lifeline::cut() ends any of it at once.
#pragma once

#include <amqp.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "sink/rabbitmq/lifeline.h"
#include "sink/rabbitmq/properties.h"
#include "sink/rabbitmq/settings.h"

namespace outbox::rabbitmq {

using Channel = std::uint16_t;

// Why the connection is of no use any more.
struct Fault {
  std::string reason;  // short and stable: "unreachable", "access_refused", "connection_lost"
  std::string detail;
  int code = 0;  // of connection.close, if the broker said it
};

struct Event {
  enum class Kind {
    confirmed,       // channel, tag, multiple, acked
    returned,        // channel, message_id, code, text
    selected,        // channel: confirm.select was answered
    channel_closed,  // channel, code, text: by the broker
    blocked,         // text
    unblocked,
  };
  Kind kind{};
  Channel channel = 0;
  std::uint64_t tag = 0;
  bool multiple = false;
  bool acked = false;
  int code = 0;
  std::string text;
  std::string message_id;
};

class Connection {
 public:
  static std::variant<std::unique_ptr<Connection>, Fault> open(const Settings& settings,
                                                               std::chrono::milliseconds write_patience,
                                                               Lifeline& lifeline);
  // Without a word to the broker.
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  int descriptor() const { return fd_; }
  std::size_t frame_max() const { return frame_max_; }

  // Opens it, and asks for confirmations.
  std::optional<Fault> open_channel(Channel channel);
  // False while the socket takes nothing: a message would wait.
  bool has_room();
  // Persistent and mandatory.
  std::optional<Fault> publish(Channel channel, const std::string& exchange, const std::string& routing_key,
                               const Properties& properties, std::string_view payload);
  // Asks for confirmations once more, only to hear the answer (Event::selected): it comes behind whatever the broker
  // has to say against what was published before.
  std::optional<Fault> mark(Channel channel);

  // What the broker has sent, one event at a time; nullopt: nothing more for now. Sends heartbeats.
  std::variant<std::optional<Event>, Fault> read();

  // An orderly end: tells the broker, and waits for its answer for a moment.
  void say_goodbye();

 private:
  Connection(const Settings& settings, std::chrono::milliseconds write_patience, Lifeline& lifeline);

  std::optional<Fault> connect_plain();
  std::optional<Fault> connect_tls();  // tls.cc
  std::optional<Fault> log_in();
  std::optional<Fault> to_fault(const amqp_rpc_reply_t& reply, std::string_view doing);
  Fault to_fault(int status, std::string_view doing) const;

  // frames.cc
  int next_frame(amqp_frame_t& frame);
  std::variant<std::optional<Event>, Fault> take(const amqp_frame_t& frame);
  std::variant<std::optional<Event>, Fault> take_method(const amqp_frame_t& frame);
  std::optional<Event> take_returned_content(const amqp_frame_t& frame);

  struct Returned {
    Event event;
    std::uint64_t body_left = 0;
  };

  const Settings& settings_;
  const std::chrono::milliseconds write_patience_;
  Lifeline& lifeline_;
  amqp_connection_state_t state_;
  int fd_ = -1;
  std::size_t frame_max_ = 0;
  std::size_t room_ = 0;  // known to fit into the socket
  bool full_ = false;     // it took nothing when it was asked last
  std::optional<Returned> returned_;
  Channel returned_channel_ = 0;
};

}  // namespace outbox::rabbitmq
