// Lifeline: cuts the connection under the client thread, from another one. librabbitmq's calls may wait for the
// network; a socket that is shut down ends any of them at once.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

namespace outbox::rabbitmq {

class Lifeline {
 public:
  using Clock = std::chrono::steady_clock;

  Lifeline();
  ~Lifeline();
  Lifeline(const Lifeline&) = delete;
  Lifeline& operator=(const Lifeline&) = delete;

  // Client thread. Keeps a duplicate of `fd`: librabbitmq may close its own at any time. detach() shuts it down.
  void attach(int fd);
  void detach();
  // The socket is shut down if disarm() does not come in time; expired() then says so, until the next attach().
  void arm(std::chrono::milliseconds patience);
  void disarm();
  bool expired() const;

  // Any thread: what is attached is shut down; the next attach() is another connection's.
  void interrupt();
  // Any thread, for good: what is attached is shut down, and what will be; cut_event() becomes readable.
  void cut();
  int cut_event() const { return event_; }

 private:
  void watch(const std::stop_token& stop);
  void shut_down() const;
  void release();

  int event_ = -1;
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  int fd_ = -1;
  bool cut_ = false;
  bool expired_ = false;
  std::optional<Clock::time_point> deadline_;
  std::jthread watcher_;
};

// While it lives, a call of librabbitmq may take so long.
class Limit {
 public:
  Limit(Lifeline& lifeline, std::chrono::milliseconds patience) : lifeline_(lifeline) { lifeline_.arm(patience); }
  ~Limit() { lifeline_.disarm(); }
  Limit(const Limit&) = delete;
  Limit& operator=(const Limit&) = delete;

 private:
  Lifeline& lifeline_;
};

}  // namespace outbox::rabbitmq
