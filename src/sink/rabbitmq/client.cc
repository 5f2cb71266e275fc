#include "sink/rabbitmq/client.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>

#include "sink/block_sigpipe.h"

namespace outbox::rabbitmq {
namespace {

using namespace std::chrono_literals;

constexpr auto kOrderly = 400ms;  // for the publisher to notice
constexpr auto kCut = 400ms;      // for librabbitmq to notice that its socket is gone

Outcome closed() { return unknown("closed", "the sink was closed before the broker confirmed"); }
Outcome reopened() { return client_dead("reopened", "the relay asked for another client"); }

Result<void> readable(const std::string& sink, const std::string& file) {
  if (file.empty() || ::access(file.c_str(), R_OK) == 0) return {};
  return Failure{FailureKind::local, "sinks." + sink + ".tls: cannot read " + file};
}

}  // namespace

Client::Client(Settings settings, Patience patience)
    : settings_(std::move(settings)), patience_(patience), wake_event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  OUTBOX_ASSERT(wake_event_ >= 0);
}

Client::~Client() {
  close();
  if (thread_.joinable()) thread_.join();
  ::close(wake_event_);
}

Capabilities Client::capabilities() const {
  Capabilities capabilities;
  capabilities.window_messages = settings_.window;
  capabilities.window_bytes = std::max<std::size_t>(16u << 20, settings_.payload_max + (1u << 20));
  capabilities.payload_max = settings_.payload_max;
  return capabilities;
}

Result<void> Client::open(CompletionListener& listener) {
  for (const auto* file : {&settings_.ca_file, &settings_.certificate_file, &settings_.key_file}) {
    if (auto fine = readable(settings_.sink, *file); !fine) return fine;
  }
  if (thread_.joinable()) thread_.join();  // of an earlier life
  listener_ = &listener;
  order_ = Order::none;
  ended_ = false;
  lifeline_.emplace();
  thread_ = std::jthread([this] { run(); });
  return {};
}

void Client::publish(std::span<const Publication> batch) {
  {
    const std::lock_guard lock(mutex_);
    for (const Publication& publication : batch) held_.insert(publication.id);
    queue_.insert(queue_.end(), batch.begin(), batch.end());
  }
  wake();
}

Result<void> Client::reopen() {
  std::unique_lock lock(mutex_);
  order_ = Order::reopen;
  wake();
  const auto obeyed = [this] { return order_ == Order::none; };
  if (obeyed_.wait_for(lock, kOrderly, obeyed)) return {};
  lock.unlock();
  complete_all(reopened());  // first: what the interruption makes of it is not the broker's doing
  lifeline_->interrupt();
  lock.lock();
  if (obeyed_.wait_for(lock, kCut, obeyed)) return {};
  return Failure{FailureKind::unavailable, "sink " + settings_.sink + ": the RabbitMQ client is still connecting"};
}

void Client::close() {
  std::unique_lock lock(mutex_);
  if (!thread_.joinable()) return;
  order_ = Order::close;
  wake();
  bool through = obeyed_.wait_for(lock, kOrderly, [this] { return ended_; });
  if (!through) {
    lock.unlock();
    complete_all(closed());  // first: what the cut makes of it is not the broker's doing
    lock.lock();
    lifeline_->cut();
    through = obeyed_.wait_for(lock, kCut, [this] { return ended_; });
  }
  lock.unlock();
  if (through) thread_.join();
  complete_all(closed());
}

void Client::run() {
  block_sigpipe();
  Publisher publisher(settings_, patience_, *lifeline_);
  while (obey(publisher)) {
    publisher.step();
    complete(publisher.take_outcomes());
    wait(publisher);
  }
  publisher.close(closed());
  complete(publisher.take_outcomes());
  const std::lock_guard lock(mutex_);
  ended_ = true;
  obeyed_.notify_all();
}

// False when closing.
bool Client::obey(Publisher& publisher) {
  std::vector<Publication> published;
  Order order = Order::none;
  {
    const std::lock_guard lock(mutex_);
    published.swap(queue_);
    order = order_;
  }
  publisher.add(published);
  if (order == Order::close) return false;
  if (order == Order::none) return true;
  publisher.restart(reopened());
  complete(publisher.take_outcomes());
  const std::lock_guard lock(mutex_);
  if (order_ == Order::reopen) order_ = Order::none;
  obeyed_.notify_all();
  return true;
}

void Client::wait(const Publisher& publisher) const {
  const short events = publisher.wants_to_write() ? POLLIN | POLLOUT : POLLIN;
  pollfd polled[] = {{wake_event_, POLLIN, 0}, {publisher.descriptor(), events, 0}};
  const auto patience = publisher.has_more_to_do() ? 0ms : publisher.patience();
  ::poll(polled, 2, static_cast<int>(patience.count()));
  if (polled[0].revents == 0) return;
  eventfd_t count = 0;
  ::eventfd_read(wake_event_, &count);
}

void Client::wake() const { ::eventfd_write(wake_event_, 1); }

// What close() or reopen() has completed already is nobody's business any more.
void Client::complete(std::vector<Completion> completions) {
  if (completions.empty()) return;
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(completions, [this](const Completion& each) { return held_.erase(each.id) == 0; });
  }
  if (!completions.empty()) listener_->completed(std::move(completions));
}

void Client::complete_all(const Outcome& outcome) {
  std::vector<Completion> completions;
  {
    const std::lock_guard lock(mutex_);
    for (const DeliveryId id : held_) completions.push_back({id, outcome});
    held_.clear();
    queue_.clear();
  }
  if (!completions.empty()) listener_->completed(std::move(completions));
}

}  // namespace outbox::rabbitmq
