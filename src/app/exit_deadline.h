// ExitDeadline: the end of a process that was told to stop and waits for somebody who does not answer. A relay may be
// killed at any moment without losing a message, so ending it is safe; hanging is not.
#pragma once

#include <chrono>
#include <thread>

namespace outbox::app {

class ExitDeadline {
 public:
  // `after` that time the process ends with `code`, and a line in the log, unless this object is gone by then.
  ExitDeadline(std::chrono::milliseconds after, int code);

 private:
  std::jthread thread_;
};

}  // namespace outbox::app
