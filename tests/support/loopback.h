// Plain TCP on 127.0.0.1. A descriptor that is returned is the caller's to close; each function throws
// std::system_error.
#pragma once

struct sockaddr_in;

namespace outbox::test {

sockaddr_in loopback(int port);

// Listens, does not block at accept; port 0: a free one.
int listen_on_loopback(int port);
int port_of(int descriptor);
// One that nobody listens at, for a program that is to be told its port.
int free_port();
// Begins to connect and does not block; that nobody listens shows at the first use.
int connect_to_loopback(int port);

// Closes it in such a way that the peer is told at once (RST), and what was not sent yet is gone.
void close_with_reset(int descriptor);

}  // namespace outbox::test
