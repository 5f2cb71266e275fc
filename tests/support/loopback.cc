#include "support/loopback.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <system_error>

namespace outbox::test {
sockaddr_in loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

namespace {

int stream_socket() {
  const int made = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (made < 0) throw std::system_error(errno, std::generic_category(), "socket");
  const int on = 1;
  ::setsockopt(made, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  ::setsockopt(made, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  return made;
}

[[noreturn]] void give_up(int descriptor, const char* what) {
  const int error = errno;
  ::close(descriptor);
  throw std::system_error(error, std::generic_category(), what);
}

}  // namespace

int listen_on_loopback(int port) {
  const int made = stream_socket();
  const sockaddr_in address = loopback(port);
  if (::bind(made, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) give_up(made, "bind");
  if (::listen(made, 1024) != 0) give_up(made, "listen");
  return made;
}

int port_of(int descriptor) {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  if (::getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    throw std::system_error(errno, std::generic_category(), "getsockname");
  }
  return ntohs(address.sin_port);
}

int free_port() {
  const int descriptor = listen_on_loopback(0);
  const int port = port_of(descriptor);
  ::close(descriptor);
  return port;
}

int connect_to_loopback(int port) {
  const int made = stream_socket();
  const sockaddr_in address = loopback(port);
  const int answer = ::connect(made, reinterpret_cast<const sockaddr*>(&address), sizeof address);
  if (answer != 0 && errno != EINPROGRESS && errno != ECONNREFUSED) give_up(made, "connect");
  return made;
}

void close_with_reset(int descriptor) {
  const linger at_once{1, 0};
  ::setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  ::close(descriptor);
}

}  // namespace outbox::test
