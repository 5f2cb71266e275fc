#include "app/relay_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace outbox::app {

Result<RelayProcess> RelayProcess::start(const std::string& config, const std::string& log_file) {
  const int log = ::open(log_file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (log < 0) return Failure{FailureKind::local, "cannot write " + log_file + ": " + std::strerror(errno)};
  const char* const arguments[] = {"outboxd", "run", "--config", config.c_str(), nullptr};
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid == 0) {
    // Only what is safe after fork() in a process with threads.
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(1);
    ::dup2(log, STDOUT_FILENO);
    ::dup2(log, STDERR_FILENO);
    ::execv("/proc/self/exe", const_cast<char* const*>(arguments));
    ::_exit(127);
  }
  const int error = errno;
  ::close(log);
  if (pid < 0) return Failure{FailureKind::local, std::string("cannot start the relay: ") + std::strerror(error)};
  return RelayProcess(pid);
}

RelayProcess::RelayProcess(RelayProcess&& other) noexcept : pid_(std::exchange(other.pid_, -1)) {}

RelayProcess& RelayProcess::operator=(RelayProcess&& other) noexcept {
  std::swap(pid_, other.pid_);
  return *this;
}

RelayProcess::~RelayProcess() { kill(); }

void RelayProcess::kill() {
  if (pid_ < 0) return;
  ::kill(pid_, SIGKILL);
  wait();
}

int RelayProcess::stop() {
  if (pid_ < 0) return -1;
  ::kill(pid_, SIGTERM);
  return wait();
}

int RelayProcess::wait() {
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace outbox::app
