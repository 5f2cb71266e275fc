// What a contestant costs. Each runs in a process of its own, so that its CPU and memory are nobody else's.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace outbox::bench {

struct Usage {
  double seconds = 0;       // from the start of the process to its end
  double cpu_seconds = 0;   // user and system
  std::int64_t rss_kb = 0;  // its highest resident set
};

// Both wait for the end and throw std::runtime_error if it was not a good one. The disk is given time first, so that
// nobody pays for what the one before has written.
Usage measure(const std::function<void()>& work);  // in a forked copy of this process
Usage measure(const std::vector<std::string>& command);

// A program that runs beside us; terminated and waited for at the latest in the destructor.
class Child {
 public:
  explicit Child(const std::vector<std::string>& command);
  explicit Child(const std::function<void()>& work);
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  pid_t pid() const { return pid_; }
  Usage wait();
  Usage terminate();  // SIGTERM, then wait

 private:
  pid_t pid_;
  std::int64_t started_;
};

// CPU seconds of a running process so far; 0 if there is none.
double cpu_seconds_of(pid_t pid);

double now_seconds();

}  // namespace outbox::bench
