#include "support/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <stdexcept>
#include <system_error>

namespace outbox::test {
namespace {

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> result;
  result.reserve(strings.size() + 1);
  for (std::string& text : strings) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

std::vector<std::string> merged_environment(const ProcessOptions& options) {
  std::vector<std::string> result;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    bool replaced = false;
    for (const auto& [name, value] : options.environment) replaced |= text.starts_with(name + "=");
    if (!replaced) result.push_back(text);
  }
  for (const auto& [name, value] : options.environment) result.push_back(name + "=" + value);
  return result;
}

}  // namespace

ChildProcess::ChildProcess(std::vector<std::string> argv, const ProcessOptions& options) {
  write_file(folder_.file("stdin"), options.input);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, folder_.file("stdin").c_str(), O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, folder_.file("stdout").c_str(),
                                   O_CREAT | O_WRONLY | O_APPEND, 0600);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, folder_.file("stderr").c_str(),
                                   O_CREAT | O_WRONLY | O_APPEND, 0600);
  if (!options.directory.empty()) posix_spawn_file_actions_addchdir_np(&actions, options.directory.c_str());
  std::vector<std::string> environment = merged_environment(options);
  const int error =
      posix_spawnp(&pid_, argv.at(0).c_str(), &actions, nullptr, pointers(argv).data(), pointers(environment).data());
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) throw std::system_error(error, std::generic_category(), argv[0]);
  pidfd_ = static_cast<int>(syscall(SYS_pidfd_open, pid_, 0));  // glibc 2.36 declares pidfd_open without extern "C"
  if (pidfd_ < 0) throw std::system_error(errno, std::generic_category(), "pidfd_open");
}

ChildProcess::~ChildProcess() {
  kill_and_wait();
  close(pidfd_);
}

void ChildProcess::signal(int number) {
  if (!status_) ::kill(pid_, number);
}

void ChildProcess::terminate() { signal(SIGTERM); }

void ChildProcess::kill_and_wait() {
  signal(SIGKILL);
  wait(std::chrono::milliseconds(-1));
}

std::optional<ExitStatus> ChildProcess::wait(std::chrono::milliseconds deadline) {
  if (status_) return status_;
  const auto end = std::chrono::steady_clock::now() + deadline;
  pollfd ended{pidfd_, POLLIN, 0};
  int answer = 0;
  do {
    auto left = std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
    if (deadline.count() < 0)
      left = std::chrono::milliseconds(-1);
    else if (left.count() < 0)
      left = std::chrono::milliseconds(0);
    answer = poll(&ended, 1, static_cast<int>(left.count()));
  } while (answer < 0 && errno == EINTR);
  if (answer <= 0) return std::nullopt;

  int raw = 0;
  if (waitpid(pid_, &raw, 0) != pid_) throw std::system_error(errno, std::generic_category(), "waitpid");
  status_ = WIFEXITED(raw) ? ExitStatus{WEXITSTATUS(raw), 0} : ExitStatus{-1, WTERMSIG(raw)};
  return status_;
}

}  // namespace outbox::test
