// FaultProxy: a TCP proxy on 127.0.0.1 between a program under test and a server, which harms what passes: delay,
// throttle, half-open, lost answers, refusal; and cuts. A thread of its own; the functions are for any thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "support/fault_pipe.h"

namespace outbox::test {

// The port of an address or URL, "…host:port" or "…host:port/…", and the URL with another one in its place.
int port_in(const std::string& url);
std::string with_port(const std::string& url, int port);

class FaultProxy {
 public:
  // Forwards to `target_port`, which need not be listened on; its own port: 0 is a free one. Throws std::system_error.
  explicit FaultProxy(int target_port, int port = 0);
  ~FaultProxy();  // cuts
  FaultProxy(const FaultProxy&) = delete;
  FaultProxy& operator=(const FaultProxy&) = delete;

  int port() const;

  // Returns when it is so, for all connections, those that are there included.
  void set(const LinkFault& fault);
  // Ends all connections by RST, both sides; what was under way is gone. New ones are treated as set() says.
  void cut();

  // When each connection was asked for that it has seen: the refused ones it has not.
  std::vector<FaultPipe::Time> attempts() const;
  std::size_t connections() const;  // that are there now

 private:
  class Loop;
  std::unique_ptr<Loop> loop_;
};

}  // namespace outbox::test
