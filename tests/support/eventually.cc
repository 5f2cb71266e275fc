#include "support/eventually.h"

#include <algorithm>
#include <thread>

namespace outbox::test {

bool eventually(std::chrono::milliseconds deadline, const std::function<bool()>& predicate) {
  using namespace std::chrono_literals;
  const auto end = std::chrono::steady_clock::now() + deadline;
  auto pause = 1ms;
  while (!predicate()) {
    if (std::chrono::steady_clock::now() >= end) return false;
    // What is waited for happens outside this process, so there is nothing to be notified by.
    std::this_thread::sleep_for(pause);
    pause = std::min<std::chrono::milliseconds>(pause * 2, 50ms);
  }
  return true;
}

}  // namespace outbox::test
