#include "app/signals.h"

#include <signal.h>

namespace outbox::app {

namespace {

sigset_t stop_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  return set;
}

}  // namespace

void block_signals() {
  const sigset_t set = stop_signals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  signal(SIGPIPE, SIG_IGN);
}

bool wait_for_signal(std::chrono::milliseconds longest) {
  const sigset_t set = stop_signals();
  const timespec timeout{longest.count() / 1000, (longest.count() % 1000) * 1'000'000};
  return sigtimedwait(&set, nullptr, &timeout) > 0;
}

}  // namespace outbox::app
