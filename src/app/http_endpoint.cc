#include "app/http_endpoint.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>

namespace outbox::app {
namespace {

constexpr std::size_t kRequestMax = 1u << 20;

Failure bad_request(const char* what) {
  return {FailureKind::invalid, std::string("demo partner: not an HTTP request: ") + what};
}

Failure socket_failure(const char* call) {
  return {FailureKind::local, fmt::format("demo partner: {} on 127.0.0.1: {}", call, std::strerror(errno))};
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

}  // namespace

std::string HttpRequest::header(const std::string& name) const {
  const auto found = headers.find(name);
  return found == headers.end() ? std::string() : found->second;
}

Result<bool> parse_request(std::string& buffer, HttpRequest& request) {
  const auto head_end = buffer.find("\r\n\r\n");
  if (head_end == std::string::npos) {
    if (buffer.size() > kRequestMax) return bad_request("its header never ends");
    return false;
  }
  request.headers.clear();
  const std::string_view head = std::string_view(buffer).substr(0, head_end);
  if (head.find(" HTTP/1.1") == std::string_view::npos) return bad_request("its first line");
  for (auto at = head.find("\r\n"); at != std::string_view::npos;) {
    const auto next = head.find("\r\n", at + 2);
    const auto line = head.substr(at + 2, next == std::string_view::npos ? next : next - at - 2);
    const auto colon = line.find(':');
    if (colon == std::string_view::npos) return bad_request("a header without a colon");
    std::string name(line.substr(0, colon));
    std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
    request.headers[name] = std::string(trimmed(line.substr(colon + 1)));
    at = next;
  }
  const std::string length_text = request.header("content-length");
  std::size_t length = 0;
  const auto* const end = length_text.data() + length_text.size();
  if (std::from_chars(length_text.data(), end, length).ptr != end || length_text.empty() || length > kRequestMax) {
    return bad_request("no usable Content-Length");
  }
  const auto total = head_end + 4 + length;
  if (buffer.size() < total) return false;
  request.body = buffer.substr(head_end + 4, length);
  buffer.erase(0, total);
  return true;
}

HttpEndpoint::~HttpEndpoint() { shut(); }

Result<void> HttpEndpoint::listen() {
  if (listener_ >= 0) return {};
  const int made = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (made < 0) return socket_failure("socket");
  const int on = 1;
  ::setsockopt(made, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port_));
  socklen_t size = sizeof address;
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  if (::bind(made, generic, size) != 0 || ::listen(made, 64) != 0 || ::getsockname(made, generic, &size) != 0) {
    auto failed = socket_failure("listen");
    ::close(made);
    return failed;
  }
  if (port_ == 0) port_ = ntohs(address.sin_port);  // others read it once we listen
  listener_ = made;
  return {};
}

void HttpEndpoint::shut() {
  if (listener_ >= 0) ::close(listener_);
  listener_ = -1;
  for (const auto& connection : connections_) ::close(connection.socket);
  connections_.clear();
}

void HttpEndpoint::drop_unanswered() {
  for (const auto& connection : connections_) {
    if (connection.waits_for_reply) ::close(connection.socket);
  }
  connections_.remove_if([](const Connection& each) { return each.waits_for_reply; });
}

void HttpEndpoint::accept_all() {
  while (true) {
    const int socket = ::accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (socket < 0) return;
    const int on = 1;
    ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    connections_.push_back({socket, {}, {}, false});
  }
}

bool HttpEndpoint::read_from(Connection& connection) {
  char buffer[16384];
  while (true) {
    const auto got = ::recv(connection.socket, buffer, sizeof buffer, 0);
    if (got > 0) {
      connection.in.append(buffer, static_cast<std::size_t>(got));
      continue;
    }
    return got < 0 && (errno == EAGAIN || errno == EINTR);
  }
}

bool HttpEndpoint::write_to(Connection& connection) {
  while (!connection.out.empty()) {
    const auto put = ::send(connection.socket, connection.out.data(), connection.out.size(), MSG_NOSIGNAL);
    if (put < 0) return errno == EAGAIN || errno == EINTR;
    connection.out.erase(0, static_cast<std::size_t>(put));
  }
  return true;
}

std::vector<HttpRequest> HttpEndpoint::turn(std::chrono::milliseconds wait) {
  std::vector<pollfd> polled;
  polled.push_back({listener_, POLLIN, 0});  // poll() passes over a negative descriptor
  for (const auto& connection : connections_) {
    const int events = POLLIN | (connection.out.empty() ? 0 : POLLOUT);
    polled.push_back({connection.socket, static_cast<short>(events), 0});
  }
  if (::poll(polled.data(), polled.size(), static_cast<int>(wait.count())) <= 0) return {};

  std::vector<HttpRequest> requests;
  std::size_t index = 1;
  for (auto at = connections_.begin(); at != connections_.end(); ++index) {
    bool alive = polled[index].revents == 0 || read_from(*at);
    HttpRequest request;
    // One at a time: without a reply nothing more is read off this connection.
    while (alive && !at->waits_for_reply) {
      auto complete = parse_request(at->in, request);
      alive = complete.has_value();
      if (!alive || !*complete) break;
      request.connection = at->socket;
      at->waits_for_reply = true;
      requests.push_back(std::move(request));
    }
    alive = alive && write_to(*at);
    if (!alive) ::close(at->socket);
    at = alive ? std::next(at) : connections_.erase(at);
  }
  if (listener_ >= 0) accept_all();
  return requests;
}

void HttpEndpoint::reply(int connection, int status, const std::string& body) {
  for (auto& each : connections_) {
    if (each.socket != connection) continue;
    each.out += fmt::format("HTTP/1.1 {} {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{}", status,
                            status < 300 ? "OK" : "Error", body.size(), body);
    each.waits_for_reply = false;
    write_to(each);  // what is left, or an error, is for the next turn
    return;
  }
}

}  // namespace outbox::app
