// Kills a program at a chosen system call of one of its threads, by strace: the call is not carried out.
#pragma once

#include <memory>
#include <string>

#include "support/child_process.h"

namespace outbox::test {

class SyscallKill {
 public:
  // The `nth` call of that name (as strace knows it: sendto, fdatasync) by the thread of that name, counted from now.
  // Waits for the thread. Returns when strace has it; throws std::runtime_error where that fails.
  SyscallKill(ChildProcess& victim, const std::string& thread, const std::string& call, int nth);

  // Waits until it has happened; false if the program still lives at the deadline, or ended in another way.
  bool happened(std::chrono::milliseconds deadline);
  // What the thread was about to do: "sendto(8, "update outbox_position…".
  std::string last_call() const;

 private:
  ChildProcess& victim_;
  TempDir folder_;
  std::unique_ptr<ChildProcess> tracer_;
};

}  // namespace outbox::test
