// SinkPump: what a relay does with a sink, in its smallest form: order per key, the window, one message of a key at a
// time where the sink does not pipeline, the same messages again in order after a failure, reopen after client_dead.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "sink/sink.h"

namespace outbox::test {

class SinkPump : public CompletionListener {
 public:
  // `sink` is opened by the caller with this pump as its listener, and outlives it.
  SinkPump(Sink& sink, std::string destination) : sink_(sink), destination_(std::move(destination)) {}

  void completed(std::vector<Completion> completions) override;

  void add(RecordPtr record);
  // Publishes until everything is delivered or rejected; false after the deadline. `between` is called after each
  // batch of outcomes, with the number of messages that are done.
  bool run(std::chrono::milliseconds deadline, const std::function<void(std::size_t)>& between = {});

  std::size_t delivered() const { return delivered_; }
  const std::vector<Outcome>& failures() const { return failures_; }
  // What the sink did against its contract, one line each.
  const std::vector<std::string>& violations() const { return violations_; }

 private:
  struct Key {
    std::deque<RecordPtr> waiting;
    std::map<DeliveryId, RecordPtr> in_flight;  // in the order of publication
    std::vector<RecordPtr> failed;
  };

  void publish_what_may_be();
  void take(const Completion& completion);
  void requeue(Key& key);

  Sink& sink_;
  const std::string destination_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Completion> completions_;

  std::map<std::string, Key> keys_;
  std::map<DeliveryId, std::string> key_of_;
  std::set<std::string> open_keys_;
  std::size_t bytes_in_flight_ = 0;
  std::size_t left_ = 0;
  std::size_t done_ = 0;
  std::size_t delivered_ = 0;
  bool client_dead_ = false;
  DeliveryId last_id_ = 0;
  std::vector<Outcome> failures_;
  std::vector<std::string> violations_;
};

}  // namespace outbox::test
