#include "support/stub_socket.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <stdexcept>
#include <system_error>

namespace outbox::test {
namespace {

[[noreturn]] void fail(const char* what) { throw std::system_error(errno, std::generic_category(), what); }

}  // namespace

StubTls::StubTls(const std::string& certificate_file, const std::string& key_file, const std::string& client_ca_file)
    : context_(SSL_CTX_new(TLS_server_method())) {
  if (SSL_CTX_use_certificate_chain_file(context_, certificate_file.c_str()) != 1 ||
      SSL_CTX_use_PrivateKey_file(context_, key_file.c_str(), SSL_FILETYPE_PEM) != 1) {
    throw std::runtime_error("stub: cannot use " + certificate_file + " with " + key_file);
  }
  if (client_ca_file.empty()) return;
  if (SSL_CTX_load_verify_locations(context_, client_ca_file.c_str(), nullptr) != 1) {
    throw std::runtime_error("stub: cannot use " + client_ca_file);
  }
  SSL_CTX_set_verify(context_, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
}

StubTls::~StubTls() { SSL_CTX_free(context_); }

std::unique_ptr<StubListener> StubListener::listen(int port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) fail("socket");
  const int on = 1;
  ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) fail("bind");
  if (::listen(fd, 1024) != 0) fail("listen");
  socklen_t size = sizeof address;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) fail("getsockname");
  return std::unique_ptr<StubListener>(new StubListener(fd, ntohs(address.sin_port)));
}

StubListener::~StubListener() { ::close(fd_); }

std::optional<int> StubListener::accept() {
  for (;;) {
    const int fd = ::accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd >= 0) return fd;
    if (errno != EINTR && errno != ECONNABORTED) return {};
  }
}

void StubListener::stop() { ::shutdown(fd_, SHUT_RDWR); }

StubSocket::StubSocket(int fd, const StubTls* tls) : fd_(fd) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  const int on = 1;
  ::setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (tls == nullptr) return;
  ssl_ = SSL_new(tls->context());
  SSL_set_fd(ssl_, fd_);
}

StubSocket::~StubSocket() {
  if (ssl_ != nullptr) SSL_free(ssl_);
  ::close(fd_);
}

bool StubSocket::handshake() { return ssl_ == nullptr || SSL_accept(ssl_) == 1; }

bool StubSocket::read_some(std::string& buffer) {
  std::array<char, 16 * 1024> chunk;
  const auto got = ssl_ != nullptr ? SSL_read(ssl_, chunk.data(), static_cast<int>(chunk.size()))
                                   : ::recv(fd_, chunk.data(), chunk.size(), 0);
  if (got <= 0) return false;
  buffer.append(chunk.data(), static_cast<std::size_t>(got));
  return true;
}

bool StubSocket::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const auto written = ssl_ != nullptr ? SSL_write(ssl_, bytes.data(), static_cast<int>(bytes.size()))
                                         : ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (written <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

void StubSocket::reset_on_close() {
  const linger at_once{1, 0};
  ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
}

void StubSocket::shut_down() { ::shutdown(fd_, SHUT_RDWR); }

}  // namespace outbox::test
