#include "sink/rabbitmq/tcp.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <system_error>

namespace outbox::rabbitmq {
namespace {

using Clock = std::chrono::steady_clock;

struct AddressesDeleter {
  void operator()(addrinfo* addresses) const { ::freeaddrinfo(addresses); }
};

Failure unavailable(std::string what) { return {FailureKind::unavailable, std::move(what)}; }
Failure failed(int error) { return unavailable(std::generic_category().message(error)); }

Result<void> wait_connected(int fd, Clock::time_point deadline, int cancel) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
  pollfd polled[] = {{fd, POLLOUT, 0}, {cancel, POLLIN, 0}};
  const int ready = ::poll(polled, 2, static_cast<int>(std::max<std::int64_t>(left.count(), 0)));
  if (ready < 0) return failed(errno);
  if (ready == 0) return unavailable("no answer in time");
  if (polled[1].revents != 0) return unavailable("given up");
  int error = 0;
  socklen_t size = sizeof error;
  ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
  if (error != 0) return failed(error);
  return {};
}

Result<int> connect_one(const addrinfo& address, Clock::time_point deadline, int cancel) {
  const int fd = ::socket(address.ai_family, address.ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, address.ai_protocol);
  if (fd < 0) return failed(errno);
  const int on = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  ::setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  Result<void> connected;
  if (::connect(fd, address.ai_addr, address.ai_addrlen) != 0) {
    connected = errno == EINPROGRESS ? wait_connected(fd, deadline, cancel) : failed(errno);
  }
  if (connected) return fd;
  ::close(fd);
  return connected.failure();
}

}  // namespace

Result<int> connect_tcp(const std::string& host, int port, std::chrono::milliseconds patience, int cancel) {
  const auto deadline = Clock::now() + patience;
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (error != 0) return unavailable(::gai_strerror(error));
  const std::unique_ptr<addrinfo, AddressesDeleter> addresses(found);
  Result<int> connected = unavailable("the name has no address");
  for (const addrinfo* address = found; address != nullptr; address = address->ai_next) {
    connected = connect_one(*address, deadline, cancel);
    if (connected) break;
  }
  return connected;
}

}  // namespace outbox::rabbitmq
