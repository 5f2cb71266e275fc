#include "sink/rabbitmq/lifeline.h"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/result.h"

namespace outbox::rabbitmq {

Lifeline::Lifeline() : event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  OUTBOX_ASSERT(event_ >= 0);
  watcher_ = std::jthread([this](const std::stop_token& stop) { watch(stop); });
}

Lifeline::~Lifeline() {
  watcher_.request_stop();
  watcher_.join();
  release();
  ::close(event_);
}

void Lifeline::attach(int fd) {
  const std::lock_guard lock(mutex_);
  release();
  fd_ = ::fcntl(fd, F_DUPFD_CLOEXEC, 0);
  expired_ = false;
  if (cut_) shut_down();
}

void Lifeline::detach() {
  const std::lock_guard lock(mutex_);
  shut_down();
  release();
  deadline_.reset();
}

void Lifeline::release() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

void Lifeline::arm(std::chrono::milliseconds patience) {
  const std::lock_guard lock(mutex_);
  deadline_ = Clock::now() + patience;
  changed_.notify_one();
}

void Lifeline::disarm() {
  const std::lock_guard lock(mutex_);
  deadline_.reset();
}

bool Lifeline::expired() const {
  const std::lock_guard lock(mutex_);
  return expired_;
}

void Lifeline::interrupt() {
  const std::lock_guard lock(mutex_);
  shut_down();
}

void Lifeline::cut() {
  const std::lock_guard lock(mutex_);
  cut_ = true;
  shut_down();
  ::eventfd_write(event_, 1);
}

void Lifeline::shut_down() const {
  if (fd_ >= 0) ::shutdown(fd_, SHUT_RDWR);
}

void Lifeline::watch(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    if (!deadline_) {
      changed_.wait(lock, stop, [this] { return deadline_.has_value(); });
    } else if (Clock::now() >= *deadline_) {
      shut_down();
      expired_ = true;
      deadline_.reset();
    } else {
      const auto until = *deadline_;
      changed_.wait_until(lock, stop, until, [this, until] { return deadline_ != until; });
    }
  }
}

}  // namespace outbox::rabbitmq
