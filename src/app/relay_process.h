// RelayProcess: a relay as a process of its own, for the demo: it can be killed like a real one, because it is one.
//
// Thread: one.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/result.h"

namespace outbox::app {

class RelayProcess {
 public:
  // `outboxd run --config CONFIG` by this very program; what it says goes to `log_file`. It ends with its parent.
  static Result<RelayProcess> start(const std::string& config, const std::string& log_file);
  RelayProcess(RelayProcess&& other) noexcept;
  RelayProcess& operator=(RelayProcess&& other) noexcept;
  // Kills it, if it still runs.
  ~RelayProcess();

  pid_t pid() const { return pid_; }
  // kill -9, and waits until it is gone.
  void kill();
  // SIGTERM, waits, and returns its exit code (-1: a signal ended it).
  int stop();

 private:
  explicit RelayProcess(pid_t pid) : pid_(pid) {}
  int wait();

  pid_t pid_ = -1;
};

}  // namespace outbox::app
