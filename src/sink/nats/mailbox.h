// Mailbox: what the client's threads have to say to the sink's own. Shared with the client's callbacks, which may run
// a little longer than the connection.
#pragma once

#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "sink/nats/answers.h"

namespace outbox::nats {

// Ends a wait in poll(2) from another thread; stays woken until it is read.
class Bell {
 public:
  Bell() : descriptor_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) { OUTBOX_ASSERT(descriptor_ >= 0); }
  ~Bell() { ::close(descriptor_); }
  Bell(const Bell&) = delete;
  Bell& operator=(const Bell&) = delete;

  void ring() {
    const std::uint64_t one = 1;
    OUTBOX_ASSERT(::write(descriptor_, &one, sizeof one) == sizeof one);
  }
  void silence() {
    std::uint64_t rung = 0;
    [[maybe_unused]] const auto none_or_some = ::read(descriptor_, &rung, sizeof rung);
  }
  int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
};

class Mailbox {
 public:
  struct Content {
    std::vector<Answer> answers;
    std::vector<std::string> denials;  // the server's words about what may not be done
  };

  // `inbox` is the reply subject that the answers come to, up to and with its last dot.
  Mailbox(Bell& bell, std::string inbox) : bell_(bell), inbox_(std::move(inbox)) {}

  const std::string& inbox() const { return inbox_; }

  void answered(Answer answer) {
    const std::lock_guard lock(mutex_);
    content_.answers.push_back(std::move(answer));
    ring();
  }
  void denied(std::string what) {
    const std::lock_guard lock(mutex_);
    content_.denials.push_back(std::move(what));
    ring();
  }
  Content take() {
    const std::lock_guard lock(mutex_);
    rung_ = false;
    return std::exchange(content_, {});
  }
  // The bell is gone after this.
  void close() {
    const std::lock_guard lock(mutex_);
    rung_ = true;
  }

 private:
  void ring() {
    if (!std::exchange(rung_, true)) bell_.ring();
  }

  Bell& bell_;
  const std::string inbox_;
  std::mutex mutex_;
  Content content_;
  bool rung_ = false;
};

}  // namespace outbox::nats
