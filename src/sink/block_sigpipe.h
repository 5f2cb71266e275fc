// For a sink's own thread: writing to a pipe or socket that nobody reads any more fails with EPIPE there, instead of
// ending the process.
#pragma once

#include <pthread.h>
#include <signal.h>

namespace outbox {

inline void block_sigpipe() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

}  // namespace outbox
