// Which addresses count as private: loopback, link-local, private and carrier ranges, multicast, reserved and
// documentation ranges, and the forms that carry an IPv4 address inside an IPv6 one.
#pragma once

#include <sys/socket.h>

namespace outbox::http {

// True also for anything that is neither IPv4 nor IPv6.
bool private_address(const sockaddr& address);

}  // namespace outbox::http
