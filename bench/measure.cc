#include "measure.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <chrono>
#include <exception>
#include <stdexcept>
#include <utility>

namespace outbox::bench {

namespace {

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

pid_t start(const std::function<void()>& work) {
  const pid_t pid = fork();
  if (pid < 0) throw std::runtime_error("fork failed");
  if (pid > 0) return pid;
  try {
    work();
  } catch (const std::exception& error) {
    fmt::print(stderr, "bench: {}\n", error.what());
    _exit(1);
  }
  _exit(0);
}

void become(std::vector<std::string> command) {
  std::vector<char*> arguments;
  for (std::string& each : command) arguments.push_back(each.data());
  arguments.push_back(nullptr);
  execv(arguments[0], arguments.data());
  throw std::runtime_error("cannot start " + command[0]);
}

}  // namespace

Child::Child(const std::function<void()>& work) : pid_(start(work)), started_(now_ns()) {}
Child::Child(const std::vector<std::string>& command) : Child([&] { become(command); }) {}

Child::~Child() {
  if (pid_ < 0) return;
  kill(pid_, SIGTERM);
  waitpid(pid_, nullptr, 0);
}

Usage Child::wait() {
  int status = 0;
  rusage used{};
  const pid_t pid = std::exchange(pid_, -1);
  if (wait4(pid, &status, 0, &used) != pid) throw std::runtime_error("the child process cannot be waited for");
  const auto seconds = static_cast<double>(now_ns() - started_) * 1e-9;
  if (status != 0) throw std::runtime_error(fmt::format("a contestant failed (status {:#x})", status));
  return {seconds, seconds_of(used.ru_utime) + seconds_of(used.ru_stime), used.ru_maxrss};
}

Usage Child::terminate() {
  kill(pid_, SIGTERM);
  return wait();
}

Usage measure(const std::function<void()>& work) {
  ::sync();
  return Child(work).wait();
}
Usage measure(const std::vector<std::string>& command) {
  ::sync();
  return Child(command).wait();
}

double cpu_seconds_of(pid_t pid) {
  clockid_t clock{};
  timespec used{};
  if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &used) != 0) return 0;
  return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) * 1e-9;
}

double now_seconds() { return static_cast<double>(now_ns()) * 1e-9; }

}  // namespace outbox::bench
