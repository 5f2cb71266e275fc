#include "embed/called_sink.h"

#include <utility>

namespace outbox {

namespace {

// Enough to keep every thread busy while the relay takes note of what is done; and no more, because a stop waits for
// all of it.
constexpr std::size_t kWindowPerThread = 4;

class CalledSink : public Sink {
 public:
  explicit CalledSink(std::shared_ptr<CallPool> pool) : pool_(std::move(pool)) {}
  ~CalledSink() override { close(); }

  Capabilities capabilities() const override {
    Capabilities can;
    can.window_messages = kWindowPerThread * static_cast<std::size_t>(pool_->threads());
    return can;
  }

  Result<void> open(CompletionListener& listener) override {
    listener_ = &listener;
    return {};
  }

  void publish(std::span<const Publication> batch) override { pool_->post(*listener_, batch); }

  Result<void> reopen() override {
    pool_->take_back(*listener_, client_dead("taken_back", "the call was given up: the lease ran out"));
    return {};
  }

  void close() override {
    if (listener_ == nullptr) return;
    pool_->take_back(*std::exchange(listener_, nullptr),
                     unknown("closed", "the relay was stopped before the call returned"));
  }

 private:
  const std::shared_ptr<CallPool> pool_;
  CompletionListener* listener_ = nullptr;
};

}  // namespace

std::unique_ptr<Sink> make_called_sink(std::shared_ptr<CallPool> pool) {
  return std::make_unique<CalledSink>(std::move(pool));
}

}  // namespace outbox
