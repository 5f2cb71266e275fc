#include "support/fake_sink.h"

#include <deque>
#include <thread>
#include <utility>

namespace outbox::test {

void FakeBroker::set_mode(Mode mode) {
  {
    const std::lock_guard lock(mutex_);
    mode_ = mode;
  }
  wake();
}

void FakeBroker::refuse(const std::string& message_id) {
  const std::lock_guard lock(mutex_);
  refused_.insert(message_id);
}

void FakeBroker::hold(const std::string& message_id) {
  const std::lock_guard lock(mutex_);
  held_.insert(message_id);
}

void FakeBroker::break_destination(const std::string& address) {
  const std::lock_guard lock(mutex_);
  broken_.insert(address);
}

void FakeBroker::set_payload_max(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  payload_max_ = bytes;
}

void FakeBroker::keep_arrivals(bool keep) {
  const std::lock_guard lock(mutex_);
  keeps_ = keep;
}

void FakeBroker::fail_reopens(int count) {
  const std::lock_guard lock(mutex_);
  failing_reopens_ = count;
}

bool FakeBroker::takes_reopen() {
  const std::lock_guard lock(mutex_);
  if (failing_reopens_ == 0) return true;
  --failing_reopens_;
  return false;
}

std::vector<FakeBroker::Arrival> FakeBroker::arrivals() const {
  const std::lock_guard lock(mutex_);
  return arrivals_;
}

Outcome FakeBroker::take(const Publication& publication, const bool& stop) {
  std::unique_lock lock(mutex_);
  const bool held = held_.contains(publication.record->id);
  changed_.wait(lock, [&] { return (mode_ != Mode::hold && !held) || stop; });
  if (stop) return unknown("closed", "the sink was closed");
  if (mode_ == Mode::down) return busy(Scope::sink, "down", "the fake broker is down");
  if (broken_.contains(publication.destination)) return busy(Scope::destination, "broken", "a broken destination");
  if (refused_.contains(publication.record->id)) return rejected("refused", "refused by the test");
  if (payload_max_ != 0 && publication.record->payload.size() > payload_max_) return rejected("too_large", "too large");
  if (keeps_) arrivals_.push_back({publication.destination, publication.record});
  return delivered("fake/" + std::to_string(publication.id));
}

void FakeBroker::wake() { changed_.notify_all(); }

class FakeSink : public Sink {
 public:
  explicit FakeSink(FakeBroker& broker) : broker_(broker) {}
  ~FakeSink() override { close(); }

  Capabilities capabilities() const override {
    Capabilities can;
    can.pipelines_key = true;
    return can;
  }

  Result<void> open(CompletionListener& listener) override {
    listener_ = &listener;
    start();
    return {};
  }

  void publish(std::span<const Publication> batch) override {
    {
      const std::lock_guard lock(mutex_);
      queue_.insert(queue_.end(), batch.begin(), batch.end());
    }
    changed_.notify_all();
  }

  Result<void> reopen() override {
    if (worker_.joinable()) stop();
    if (!broker_.takes_reopen()) return Failure{FailureKind::unavailable, "told by the test"};
    drain(client_dead("reopened", "the client was rebuilt"));
    start();
    return {};
  }

  void close() override {
    if (worker_.joinable()) stop();
    drain(unknown("closed", "the sink was closed"));
  }

 private:
  void start() {
    stopping_ = false;
    worker_ = std::jthread([this] { run(); });
  }

  void stop() {
    {
      // Both waits look at it: the queue's and the broker's.
      const std::scoped_lock lock(mutex_, broker_.mutex_);
      stopping_ = true;
    }
    changed_.notify_all();
    broker_.wake();
    worker_.join();
  }

  void run() {
    bool alive = true;
    for (;;) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return stopping_ || !queue_.empty(); });
      if (stopping_) return;
      const Publication next = queue_.front();
      lock.unlock();
      Outcome outcome = alive ? broker_.take(next, stopping_) : client_dead("behind_failed", "an earlier one failed");
      lock.lock();
      if (stopping_) return;
      queue_.pop_front();
      lock.unlock();
      alive = alive && (outcome.verdict == Verdict::delivered || outcome.verdict == Verdict::rejected);
      listener_->completed({{next.id, std::move(outcome)}});
    }
  }

  void drain(const Outcome& outcome) {
    std::vector<Completion> completions;
    for (const auto& each : std::exchange(queue_, {})) completions.push_back({each.id, outcome});
    if (!completions.empty()) listener_->completed(std::move(completions));
  }

  FakeBroker& broker_;
  CompletionListener* listener_ = nullptr;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Publication> queue_;
  bool stopping_ = false;
  std::jthread worker_;
};

std::unique_ptr<Sink> make_fake_sink(FakeBroker& broker) { return std::make_unique<FakeSink>(broker); }

}  // namespace outbox::test
