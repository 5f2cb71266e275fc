// Waker: ends a wait in poll(2) from another thread. Once woken it stays so.
#pragma once

#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>

#include "base/result.h"

namespace outbox::file {

class Waker {
 public:
  Waker() : descriptor_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) { OUTBOX_ASSERT(descriptor_ >= 0); }
  ~Waker() { ::close(descriptor_); }
  Waker(const Waker&) = delete;
  Waker& operator=(const Waker&) = delete;

  void wake() {
    const std::uint64_t one = 1;
    const auto written = ::write(descriptor_, &one, sizeof one);
    OUTBOX_ASSERT(written == sizeof one);
  }
  int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
};

}  // namespace outbox::file
