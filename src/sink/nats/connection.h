// Connection: one connection to one server, until it is lost or cut; then it is destroyed and another one is made.
//
// libnats is used for its protocol, its credentials and TLS, and for nothing that would send by itself: it does not
// reconnect, so that it has no buffer of what was published meanwhile; its JetStream layer, which holds and repeats
// messages, is not used; and it writes only when exchange() lets it, because the socket is driven from there (the
// client's event loop interface) and not by threads of its own. What was handed to send() and not written goes with
// the connection, and so does what the kernel has not sent: the destructor resets the socket. So a message that the
// sink has given back is never delivered by a connection that was cut before, unless the server had it already.
//
// Thread: the sink's own, but for interrupt(). Answers come on a thread of the client's and are put into the mailbox.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "model/headers.h"
#include "sink/nats/handles.h"
#include "sink/nats/mailbox.h"
#include "sink/nats/nats_options.h"

namespace outbox::nats {

class Connection {
 public:
  struct Dialled {
    std::unique_ptr<Connection> connection;
    Outcome failure;  // busy, scope sink; without a connection
  };

  // Blocks for name resolution and then for at most options.connect_timeout. `bell` rings when there is mail, and
  // outlives the connection.
  static Dialled dial(const NatsOptions& options, const Server& server, Bell& bell);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Little is left to be written. What is sent without asking is kept in memory.
  bool has_room() const;
  // nullopt: on its way; its answer comes as mail, with this id. Otherwise why this message cannot be sent.
  std::optional<Outcome> send(DeliveryId id, const std::string& subject, const HeaderList& headers,
                              std::string_view payload);
  // Writes and reads what goes without blocking; waits for at most `patience` if neither does and no bell rings.
  void exchange(std::chrono::milliseconds patience);
  Mailbox::Content mail() { return mailbox_->take(); }

  bool alive() const;
  // Why it is not alive: busy (sink), or client_dead where the server ended it for what it was sent.
  Outcome ending() const;

  // Any thread. Ends an exchange() that blocks, and the connection.
  void interrupt();

 private:
  // What the client's event loop interface tells.
  struct Socket {
    std::mutex mutex;
    int descriptor = -1;  // -1: none, or closed
    bool wants_write = false;
    std::chrono::milliseconds patience;
  };
  static natsStatus attach(void** user, void* loop, natsConnection* connection, natsSock descriptor);
  static natsStatus read_event(void* user, bool add);
  static natsStatus write_event(void* user, bool add);
  static natsStatus detach(void* user);

  Connection(std::string server, Bell& bell);
  natsStatus connect(const NatsOptions& options, const Server& server);
  natsStatus configure(natsOptions* opts, const NatsOptions& options, const Server& server);
  natsStatus subscribe();
  void cut();

  const std::string server_;
  Bell& bell_;
  std::shared_ptr<Mailbox> mailbox_;
  Socket socket_;
  ConnectionHandle connection_;
  SubscriptionHandle inbox_;
};

}  // namespace outbox::nats
