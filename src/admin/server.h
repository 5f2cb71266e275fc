// AdminServer: a small HTTP/1.1 server for the admin address. The HTTP library stays behind this header.
//
// One thread of its own answers everything, so handlers have to return at once, from memory. Bounded on all sides:
// connections, header and body size, the time that a request may take to arrive and an answer to leave.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/listen_address.h"
#include "base/result.h"
#include "base/time.h"

namespace outbox {

struct AdminRequest {
  std::string path;   // "/metrics"
  std::string query;  // without the question mark
};

struct AdminResponse {
  int status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body;
};

// By path; GET and HEAD only.
using AdminHandlers = std::map<std::string, std::function<AdminResponse(const AdminRequest&)>, std::less<>>;

struct AdminLimits {
  std::size_t connections = 64;  // one more is closed unanswered
  std::uint32_t header_bytes = 8u << 10;
  std::uint64_t body_bytes = 4u << 10;  // there is nothing to send; more is refused
  Duration request_timeout{10s};        // from the first byte awaited to the last; also how long an idle one stays
  Duration answer_timeout{10s};
};

class AdminServer {
 public:
  // Listens when it returns. Fails `local` if the address cannot be bound, naming it.
  static Result<std::unique_ptr<AdminServer>> start(const ListenAddress& address, AdminHandlers handlers,
                                                    const AdminLimits& limits = {});
  // Stops: closes every connection and waits for the thread.
  ~AdminServer();
  AdminServer(const AdminServer&) = delete;
  AdminServer& operator=(const AdminServer&) = delete;

  std::uint16_t port() const;  // the real one where 0 was asked for

 private:
  class State;
  explicit AdminServer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace outbox
