// Worker: one thread that runs jobs one after the other, in the order in which they were given. A source or a store
// lives on one worker, so that its calls, which block in the database, never run at once.
#pragma once

#include <pthread.h>

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace outbox {

class Worker {
 public:
  // `name`, at most 15 bytes, is what top and gdb show.
  explicit Worker(const char* name) : thread_([this](const std::stop_token& stop) { run(stop); }) {
    pthread_setname_np(thread_.native_handle(), name);
  }
  // Finishes the job at hand; jobs that have not begun are dropped.
  ~Worker() = default;

  void post(std::function<void()> job) {
    {
      const std::lock_guard lock(mutex_);
      jobs_.push_back(std::move(job));
    }
    ready_.notify_one();
  }

 private:
  void run(const std::stop_token& stop) {
    for (;;) {
      std::function<void()> job;
      {
        std::unique_lock lock(mutex_);
        if (!ready_.wait(lock, stop, [&] { return !jobs_.empty(); })) return;
        if (stop.stop_requested()) return;
        job = std::move(jobs_.front());
        jobs_.pop_front();
      }
      job();
    }
  }

  std::mutex mutex_;
  std::condition_variable_any ready_;
  std::deque<std::function<void()>> jobs_;
  std::jthread thread_;  // last: it is stopped and joined before the rest goes
};

}  // namespace outbox
