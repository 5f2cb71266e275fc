// HttpStub: an HTTP/1.1 endpoint on loopback that does what a script says and keeps what it was sent, byte for byte.
// A thread of its own accepts, one more serves each connection; keep-alive as in HTTP/1.1.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace outbox::test {

struct StubRequest {
  std::string raw;  // from the request line to the last byte of the body
  std::string method;
  std::string target;
  std::vector<std::pair<std::string, std::string>> headers;  // names in lower case
  std::string body;
  std::size_t connection = 0;  // counted from 1, in the order of acceptance
  std::chrono::steady_clock::time_point at;

  // The first header of this name, or empty.
  std::string header(const std::string& name) const;
  std::size_t count(const std::string& name) const;
};

struct StubReply {
  enum class Manner {
    whole,    // the answer, then the connection stays open
    hang,     // nothing, until release() or the client gives up
    close,    // the connection ends without a byte of an answer
    reset,    // as close, by RST
    trickle,  // the headers at once, then a byte of the body per `pause` for as long as the client stays
    raw,      // `body` as it is, then the connection ends
  };
  int status = 200;
  std::vector<std::pair<std::string, std::string>> headers = {};
  std::string body = {};
  Manner manner = Manner::whole;
  std::chrono::milliseconds delay{0};  // before the answer; release() ends it
  std::chrono::milliseconds pause{50};
};

class HttpStub {
 public:
  using Script = std::function<StubReply(const StubRequest&)>;
  struct Tls {
    std::string certificate_file;
    std::string key_file;
    std::string client_ca_file;  // empty: clients need no certificate
  };

  // Listens on a free port of 127.0.0.1. The script runs on the threads of the connections, one call at a time.
  explicit HttpStub(Script script = {}, const Tls* tls = nullptr);
  ~HttpStub();
  HttpStub(const HttpStub&) = delete;
  HttpStub& operator=(const HttpStub&) = delete;

  int port() const;
  std::string url(const std::string& path = "/") const;

  void set_script(Script script);
  // false: requests are counted only, for tests of memory.
  void keep_requests(bool keep);
  // Ends all that hangs or delays, now and from now on until hold() is called.
  void release();
  void hold();

  // Refuses connections and ends those that are there; later listens again on the same port.
  void go_down();
  void come_up();

  std::vector<StubRequest> requests() const;
  std::size_t request_count() const;
  std::size_t connection_count() const;
  // Waits until so many requests have been read; false after the deadline.
  bool wait_for_requests(std::size_t count, std::chrono::milliseconds deadline = std::chrono::seconds(30)) const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

// A port of 127.0.0.1 that nobody listens on.
int closed_port();

}  // namespace outbox::test
