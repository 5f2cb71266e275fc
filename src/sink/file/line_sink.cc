#include "sink/file/line_sink.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "sink/block_sigpipe.h"
#include "sink/file/batch_writer.h"
#include "sink/file/shut_keys.h"

namespace outbox::file {
namespace {

constexpr auto kReopenPatience = 1s;

Outcome closed() { return unknown("closed", "the sink was closed before the message was written"); }

// Keys that nothing came of any more, because their messages were parked, are forgotten by way of a reopen().
constexpr std::size_t kShutKeysMax = 20'000;

bool dead(const Completion& completion) { return completion.outcome.verdict == Verdict::client_dead; }

class LineSink : public Sink {
 public:
  explicit LineSink(OpenOutput open_output) : open_output_(std::move(open_output)) {}
  ~LineSink() override { close(); }

  Capabilities capabilities() const override {
    Capabilities can;
    can.pipelines_key = true;
    can.window_messages = 8000;
    can.one_writer = true;
    return can;
  }

  Result<void> open(CompletionListener& listener) override {
    listener_ = &listener;
    writer_ = std::jthread([this] { run(); });
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
    std::unique_lock lock(mutex_);
    reopening_ = true;
    changed_.notify_all();
    if (changed_.wait_for(lock, kReopenPatience, [&] { return !reopening_; })) return {};
    return Failure{FailureKind::unavailable, "a write has not come back for a second; look at the disk"};
  }

  void close() override {
    if (!writer_.joinable()) return;
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    stop_.wake();
    changed_.notify_all();
    writer_.join();
  }

 private:
  void run() {
    block_sigpipe();
    BatchWriter writer(open_output_, stop_);
    ShutKeys shut;
    bool alive = true;
    for (;;) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return stopping_ || reopening_ || !queue_.empty(); });
      const bool stopping = stopping_;
      const bool reopening = reopening_;
      std::vector<Publication> batch = take(!alive || stopping || reopening);
      lock.unlock();

      if (stopping) return complete_all(batch, closed());
      if (alive && !reopening) {
        alive = write(writer, shut, batch);
        continue;
      }
      complete_all(batch, behind_failed());
      if (!reopening) continue;
      alive = true;
      shut.clear();
      reopened();
    }
  }

  // False: the sink is dead until reopen().
  bool write(BatchWriter& writer, ShutKeys& shut, std::vector<Publication>& batch) {
    std::vector<Completion> completions = shut.take_out(batch);
    BatchWriter::Result result = writer.write(batch);
    for (std::size_t i = 0; i < batch.size() && !result.written; ++i) {
      const Outcome& outcome = result.completions[i].outcome;
      if (outcome.verdict == Verdict::busy) shut.shut(batch[i], outcome);
    }
    completions.insert(completions.end(), std::make_move_iterator(result.completions.begin()),
                       std::make_move_iterator(result.completions.end()));
    const bool alive = std::none_of(completions.begin(), completions.end(), dead) && shut.size() <= kShutKeysMax;
    listener_->completed(std::move(completions));
    return alive;
  }

  // The next batch: all that is there, or what the writer may do at once.
  std::vector<Publication> take(bool all) {
    const std::size_t count = all ? queue_.size() : BatchWriter::fitting(queue_);
    const auto end = queue_.begin() + static_cast<std::ptrdiff_t>(count);
    std::vector<Publication> batch(std::make_move_iterator(queue_.begin()), std::make_move_iterator(end));
    queue_.erase(queue_.begin(), end);
    return batch;
  }

  void complete_all(const std::vector<Publication>& batch, const Outcome& outcome) {
    if (batch.empty()) return;
    std::vector<Completion> completions;
    completions.reserve(batch.size());
    for (const auto& each : batch) completions.push_back({each.id, outcome});
    listener_->completed(std::move(completions));
  }

  void reopened() {
    {
      const std::lock_guard lock(mutex_);
      reopening_ = false;
    }
    changed_.notify_all();
  }

  const OpenOutput open_output_;
  CompletionListener* listener_ = nullptr;
  Waker stop_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Publication> queue_;
  bool reopening_ = false;
  bool stopping_ = false;
  std::jthread writer_;
};

}  // namespace

std::unique_ptr<Sink> make_line_sink(OpenOutput open_output) {
  return std::make_unique<LineSink>(std::move(open_output));
}

}  // namespace outbox::file
