// A CompletionListener that keeps what it hears, and records to publish.
#pragma once

#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "sink/sink.h"

namespace outbox::test {

class CompletionLog : public CompletionListener {
 public:
  void completed(std::vector<Completion> completions) override;

  // Waits until `count` publications have been completed; false after the deadline.
  bool wait(std::size_t count, std::chrono::milliseconds deadline = std::chrono::seconds(60));
  // Waits for one; a verdict of unknown with reason "no outcome" after the deadline.
  Outcome wait_for(DeliveryId id, std::chrono::milliseconds deadline = std::chrono::seconds(60));

  std::size_t count() const;
  std::size_t count(Verdict verdict) const;
  std::optional<Outcome> outcome(DeliveryId id) const;
  std::vector<Completion> take();  // in the order of arrival; forgets them
  std::size_t completed_twice() const;

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Completion> arrived_;
  std::map<DeliveryId, Outcome> outcomes_;
  std::size_t twice_ = 0;
};

// A record of aggregate type "order" with id "m-<number>".
Record make_record(int number, const std::string& key, std::string payload = "{}");
Publication publication(DeliveryId id, Record record, const std::string& destination);

}  // namespace outbox::test
