// A small HTTP/1.1 server on the loopback interface for the demo's partner, which has to misbehave in ways that a
// proper server prevents: never answer, close its listener, drop its connections. Not for the network: the daemon's own
// server is admin/.
//
// Thread: one, the caller's; nothing here blocks but turn().
#pragma once

#include <cstddef>
#include <list>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace outbox::app {

struct HttpRequest {
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;
  int connection = -1;  // for reply()

  std::string header(const std::string& name) const;
};

// Takes one request with a Content-Length off the front of `buffer`. False: not complete yet. `invalid` if it is no
// request, or larger than 1 MiB.
Result<bool> parse_request(std::string& buffer, HttpRequest& request);

class HttpEndpoint {
 public:
  HttpEndpoint() = default;
  ~HttpEndpoint();
  HttpEndpoint(const HttpEndpoint&) = delete;
  HttpEndpoint& operator=(const HttpEndpoint&) = delete;

  // On a free port the first time, on the same one later. Listening twice is fine.
  Result<void> listen();
  // Closes the listener and every connection.
  void shut();
  // Closes the connections whose request got no reply.
  void drop_unanswered();
  int port() const { return port_; }

  // Waits up to `wait` for something to happen; accepts, reads and writes. Returns the requests that are complete.
  std::vector<HttpRequest> turn(std::chrono::milliseconds wait);

  // A request that gets no reply hangs, and its connection with it.
  void reply(int connection, int status, const std::string& body);

 private:
  struct Connection {
    int socket = -1;
    std::string in;
    std::string out;
    bool waits_for_reply = false;
  };

  void accept_all();
  // False: the connection is over.
  bool read_from(Connection& connection);
  bool write_to(Connection& connection);

  int port_ = 0;
  int listener_ = -1;
  std::list<Connection> connections_;
};

}  // namespace outbox::app
