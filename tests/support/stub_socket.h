// Sockets for HttpStub: plain, or TLS where a certificate is given. Blocking; shut_down() from another thread ends it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

struct ssl_ctx_st;
struct ssl_st;

namespace outbox::test {

class StubTls {
 public:
  // Throws std::runtime_error if the files are of no use.
  StubTls(const std::string& certificate_file, const std::string& key_file, const std::string& client_ca_file);
  ~StubTls();
  StubTls(const StubTls&) = delete;
  StubTls& operator=(const StubTls&) = delete;
  ssl_ctx_st* context() const { return context_; }

 private:
  ssl_ctx_st* context_;
};

class StubListener {
 public:
  // On 127.0.0.1; port 0: a free one. Throws std::system_error.
  static std::unique_ptr<StubListener> listen(int port);
  ~StubListener();
  StubListener(const StubListener&) = delete;
  StubListener& operator=(const StubListener&) = delete;

  int port() const { return port_; }
  // Nothing after stop().
  std::optional<int> accept();
  void stop();

 private:
  StubListener(int fd, int port) : fd_(fd), port_(port) {}
  int fd_;
  int port_;
};

class StubSocket {
 public:
  // Owns `fd`.
  StubSocket(int fd, const StubTls* tls);
  ~StubSocket();
  StubSocket(const StubSocket&) = delete;
  StubSocket& operator=(const StubSocket&) = delete;

  // TLS where there is a certificate; false if the client does not come along.
  bool handshake();
  // Appends what comes next; false at the end of the connection.
  bool read_some(std::string& buffer);
  bool write(std::string_view bytes);
  void reset_on_close();
  void shut_down();

 private:
  int fd_;
  ssl_st* ssl_ = nullptr;
};

}  // namespace outbox::test
