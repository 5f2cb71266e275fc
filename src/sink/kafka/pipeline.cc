#include "sink/kafka/pipeline.h"

namespace outbox::kafka {

using namespace std::chrono_literals;

Pipeline::Pipeline(ClientSettings settings, Patience patience) : settings_(std::move(settings)), patience_(patience) {}

Pipeline::~Pipeline() { close(); }

Capabilities Pipeline::capabilities() const {
  Capabilities capabilities;
  capabilities.pipelines_key = true;
  capabilities.window_messages = kWindowMessages;
  capabilities.window_bytes = window_bytes(settings_);
  capabilities.payload_max = settings_.payload_max;
  return capabilities;
}

Result<void> Pipeline::open(CompletionListener& listener) {
  Result<std::shared_ptr<Producer>> producer = Producer::create(settings_, batch_bytes_);
  if (!producer) return producer.failure();
  listener_ = &listener;
  producer_ = std::move(*producer);
  refusing_ = false;
  closing_ = false;
  lookup_.emplace([this](const auto& from, TopicFacts facts) { looked_up(from, std::move(facts)); },
                  patience_.unknown_topic);
  thread_ = std::jthread([this] { run(); });
  return {};
}

void Pipeline::publish(std::span<const Publication> batch) {
  const auto now = Clock::now();
  std::lock_guard lock(mutex_);
  for (const Publication& publication : batch) accept(publication, now);
  if (!outgoing_.empty() || idle_ || breaking_) wake();
}

Result<void> Pipeline::reopen() {
  std::unique_lock lock(mutex_);
  if (producer_ && !refusing_) {  // a living one is given up all the same
    break_client("reopened", "the relay asked for another client");
    wake();
  }
  const bool quiet =
      changed_.wait_for(lock, 1s, [this] { return !producer_ && !abandoning_ && outgoing_.empty() && !delivering_; });
  if (!quiet) {
    return Failure{FailureKind::unavailable, "sink " + settings_.sink + ": the old Kafka client is still closing"};
  }
  Result<std::shared_ptr<Producer>> producer = Producer::create(settings_, batch_bytes_);
  if (!producer) return producer.failure();
  producer_ = std::move(*producer);
  refusing_ = false;
  changed_.notify_all();
  return {};
}

void Pipeline::close() {
  if (!thread_.joinable()) return;
  {
    std::lock_guard lock(mutex_);
    closing_ = true;
    wake();
  }
  thread_.join();
  lookup_.reset();
}

// Mutex held. The own thread gives the client up; until then everything is refused.
void Pipeline::break_client(std::string reason, std::string detail) {
  breaking_ = true;
  refusing_ = true;
  meanwhile_ = client_dead(std::move(reason), std::move(detail));
}

// Mutex held.
void Pipeline::wake() {
  idle_ = false;
  changed_.notify_all();
  if (producer_) producer_->wake();
}

}  // namespace outbox::kafka
