// A NATS server of a test's own, beside the shared one, for what no test may do to that: other limits, users and
// certificates, kill, stop and continue. On a free port of 127.0.0.1, which it keeps, with data that outlives a kill.
#pragma once

#include <memory>
#include <string>

#include "support/child_process.h"
#include "support/temp_dir.h"

namespace outbox::test {

class NatsServer {
 public:
  // `settings` are lines for its configuration file. JetStream is on. Every function throws std::runtime_error with
  // the server's log if it does not come up.
  explicit NatsServer(const std::string& settings = {});

  std::string url() const { return "nats://127.0.0.1:" + std::to_string(port_); }
  int port() const { return port_; }

  void kill() { process_->kill_and_wait(); }
  void start();
  void pause();  // SIGSTOP: it takes connections, and says nothing
  void resume();

 private:
  TempDir folder_;
  int port_;
  std::unique_ptr<ChildProcess> process_;
};

}  // namespace outbox::test
