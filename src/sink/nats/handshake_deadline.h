// HandshakeDeadline: libnats 3.4 shakes hands for TLS on a blocking socket and sets no time-out; a server that says
// nothing then would hold the thread for ever, and nobody has the socket. While this object lives, handshakes that its
// thread begins fail when the server keeps silent for longer than `patience`.
//
// It uses OpenSSL's hook for new connections, once per process; other threads' connections are left alone.
#pragma once

#include <chrono>

namespace outbox::nats {

class HandshakeDeadline {
 public:
  explicit HandshakeDeadline(std::chrono::milliseconds patience);
  ~HandshakeDeadline();
  HandshakeDeadline(const HandshakeDeadline&) = delete;
  HandshakeDeadline& operator=(const HandshakeDeadline&) = delete;
};

}  // namespace outbox::nats
