// ChildProcess: a program under test. It is killed and waited for at the latest in the destructor.
// One thread at a time.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "support/temp_dir.h"

namespace outbox::test {

struct ExitStatus {
  int code = -1;   // what it returned; -1 if a signal ended it
  int signal = 0;  // the signal that ended it; 0 if it returned
  bool succeeded() const { return code == 0 && signal == 0; }
};

struct ProcessOptions {
  std::vector<std::pair<std::string, std::string>> environment = {};  // set beside our own
  std::string directory = {};                                         // where it runs; empty: here
  std::string input = {};                                             // its standard input
};

class ChildProcess {
 public:
  // Starts argv[0], which is looked up in PATH if it has no slash. Throws std::system_error if it cannot be started.
  explicit ChildProcess(std::vector<std::string> argv, const ProcessOptions& options = {});
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  pid_t pid() const { return pid_; }
  void signal(int number);  // none if it has ended
  void terminate();         // SIGTERM, does not wait
  void kill_and_wait();     // SIGKILL, and returns when it is gone

  // Empty if it still runs at the deadline. Once it has ended, the same status each time.
  std::optional<ExitStatus> wait(std::chrono::milliseconds deadline);
  bool running() { return !wait(std::chrono::milliseconds(0)).has_value(); }

  // All that it has written so far. Kept in files, so a talkative child never blocks.
  std::string standard_output() const { return read_file(folder_.file("stdout")); }
  std::string standard_error() const { return read_file(folder_.file("stderr")); }

 private:
  TempDir folder_;
  pid_t pid_ = -1;
  int pidfd_ = -1;
  std::optional<ExitStatus> status_;
};

}  // namespace outbox::test
