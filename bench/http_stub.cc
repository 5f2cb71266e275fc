#include "http_stub.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <charconv>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>

namespace outbox::bench {

namespace {

constexpr std::string_view kAnswer = "HTTP/1.1 204 No Content\r\n\r\n";

void require(bool good, const char* what) {
  if (!good) throw std::runtime_error(std::string("http stub: ") + what);
}

// Length of the first request in `text`, 0 if it is not whole yet.
std::size_t request_length(std::string_view text) {
  const auto end = text.find("\r\n\r\n");
  if (end == std::string_view::npos) return 0;
  constexpr std::string_view kLength = "\r\nContent-Length: ";
  const auto at = text.substr(0, end).find(kLength);
  require(at != std::string_view::npos, "a request without Content-Length");
  std::size_t body = 0;
  std::from_chars(text.data() + at + kLength.size(), text.data() + end, body);
  const std::size_t length = end + 4 + body;
  return text.size() >= length ? length : 0;
}

// Answers what is whole in `pending`; false: the peer is gone.
bool serve(int client, std::string& pending, std::atomic_ref<std::int64_t> requests) {
  std::array<char, 1 << 16> block;
  const ssize_t count = read(client, block.data(), block.size());
  if (count <= 0) return false;
  pending.append(block.data(), static_cast<std::size_t>(count));
  while (const std::size_t length = request_length(pending)) {
    pending.erase(0, length);
    ++requests;
    if (write(client, kAnswer.data(), kAnswer.size()) != static_cast<ssize_t>(kAnswer.size())) return false;
  }
  return true;
}

void serve_for_ever(int listener, std::int64_t* count) {
  std::atomic_ref<std::int64_t> requests(*count);
  std::map<int, std::string> clients;
  const int poller = epoll_create1(0);
  epoll_event interest{EPOLLIN, {}};
  interest.data.fd = listener;
  epoll_ctl(poller, EPOLL_CTL_ADD, listener, &interest);
  std::array<epoll_event, 64> events;
  for (;;) {
    const int ready = epoll_wait(poller, events.data(), static_cast<int>(events.size()), -1);
    for (int i = 0; i < ready; ++i) {
      const int socket = events[static_cast<std::size_t>(i)].data.fd;
      if (socket == listener) {
        const int client = accept(listener, nullptr, nullptr);
        const int on = 1;
        setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        interest.data.fd = client;
        epoll_ctl(poller, EPOLL_CTL_ADD, client, &interest);
      } else if (!serve(socket, clients[socket], requests)) {
        clients.erase(socket);
        close(socket);
      }
    }
  }
}

}  // namespace

HttpStub::HttpStub() : listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  require(bind(listener_, reinterpret_cast<sockaddr*>(&address), size) == 0, "bind");
  require(listen(listener_, 256) == 0, "listen");
  require(getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) == 0, "getsockname");
  port_ = ntohs(address.sin_port);
  void* shared = mmap(nullptr, sizeof(std::int64_t), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  require(shared != MAP_FAILED, "mmap");
  requests_ = new (shared) std::int64_t(0);
  child_ = std::make_unique<Child>([this] { serve_for_ever(listener_, requests_); });
}

HttpStub::~HttpStub() {
  child_.reset();
  close(listener_);
  munmap(requests_, sizeof *requests_);
}

std::int64_t HttpStub::requests() const { return std::atomic_ref<std::int64_t>(*requests_); }

}  // namespace outbox::bench
