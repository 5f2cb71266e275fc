#include "fault/syscall_kill.h"

#include <csignal>
#include <filesystem>
#include <stdexcept>

#include "support/daemon.h"
#include "support/eventually.h"

namespace outbox::test {

using namespace std::chrono_literals;

namespace {

std::string thread_of(pid_t process, const std::string& name) {
  std::error_code gone;
  for (const auto& task : std::filesystem::directory_iterator("/proc/" + std::to_string(process) + "/task", gone)) {
    if (read_file(task.path() / "comm") == name + "\n") return task.path().filename();
  }
  return {};
}

}  // namespace

SyscallKill::SyscallKill(ChildProcess& victim, const std::string& thread, const std::string& call, int nth)
    : victim_(victim) {
  std::string id;
  eventually(20s, [&] { return !(id = thread_of(victim_.pid(), thread)).empty(); });
  if (id.empty()) throw std::runtime_error("there is no thread '" + thread + "': " + victim.standard_error());
  const auto attached = [&] { return tracer_->standard_error().find("attached") != std::string::npos; };
  tracer_ = std::make_unique<ChildProcess>(
      std::vector<std::string>{"strace", "-p", id, "-o", folder_.file("calls"), "-s", "60", "-e", "trace=" + call, "-e",
                               "inject=" + call + ":signal=SIGKILL:when=" + std::to_string(nth)});
  // The call may come, and end both, before this sees that it was attached.
  eventually(20s, [&] { return attached() || !tracer_->running(); });
  if (!attached()) throw std::runtime_error("strace: " + tracer_->standard_error());
}

bool SyscallKill::happened(std::chrono::milliseconds deadline) {
  const auto ended = victim_.wait(deadline);
  if (ended) tracer_->wait(20s);
  return ended && ended->signal == SIGKILL;
}

std::string SyscallKill::last_call() const {
  std::string last;
  for (const std::string& line : lines_of(read_file(folder_.file("calls")))) {
    if (!line.starts_with("+++")) last = line;
  }
  return last;
}

}  // namespace outbox::test
