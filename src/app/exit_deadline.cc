#include "app/exit_deadline.h"

#include <condition_variable>
#include <cstdlib>
#include <mutex>

#include "base/log.h"

namespace outbox::app {

namespace {

void end_after(const std::stop_token& stop, std::chrono::milliseconds after, int code) {
  std::mutex mutex;
  std::condition_variable_any woken;
  std::unique_lock lock(mutex);
  woken.wait_for(lock, stop, after, [] { return false; });
  if (stop.stop_requested()) return;
  log::warn("ending without an answer of the database: what is not settled is sent again",
            {{"waited_ms", std::to_string(after.count())}});
  std::_Exit(code);
}

}  // namespace

ExitDeadline::ExitDeadline(std::chrono::milliseconds after, int code)
    : thread_([after, code](const std::stop_token& stop) { end_after(stop, after, code); }) {}

}  // namespace outbox::app
