// Client: the Sink over a Publisher. One message of a key is in flight at a time (Capabilities::pipelines_key is
// false): a message that the broker returns or refuses (nack) is known to be so only when later ones are in its queues
// already, and nothing can take those back. Many keys are in flight at once.
//
// Threads: the relay's calls publish(), which queues; an own one runs the publisher and reports outcomes. What the
// client thread is waiting for inside librabbitmq is cut short by close() and reopen(): they answer within a second,
// except that a name lookup, and a connection by TLS to an address that says nothing, end by their own time-outs; then
// close() has completed everything and the destructor waits.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>
#include <unordered_set>
#include <vector>

#include "sink/rabbitmq/lifeline.h"
#include "sink/rabbitmq/publisher.h"
#include "sink/rabbitmq/settings.h"
#include "sink/sink.h"

namespace outbox::rabbitmq {

class Client final : public Sink {
 public:
  Client(Settings settings, Patience patience);
  ~Client() override;

  Capabilities capabilities() const override;
  Result<void> open(CompletionListener& listener) override;
  void publish(std::span<const Publication> batch) override;
  Result<void> reopen() override;
  void close() override;

 private:
  enum class Order { none, reopen, close };

  void run();
  bool obey(Publisher& publisher);
  void wait(const Publisher& publisher) const;
  void wake() const;
  void complete(std::vector<Completion> completions);
  void complete_all(const Outcome& outcome);

  const Settings settings_;
  const Patience patience_;
  CompletionListener* listener_ = nullptr;
  const int wake_event_;

  std::mutex mutex_;
  std::condition_variable obeyed_;
  std::vector<Publication> queue_;
  std::unordered_set<DeliveryId> held_;  // has no outcome yet
  Order order_ = Order::none;
  bool ended_ = false;  // the client thread is through
  std::optional<Lifeline> lifeline_;
  std::jthread thread_;
};

}  // namespace outbox::rabbitmq
