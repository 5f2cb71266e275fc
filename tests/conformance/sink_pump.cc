#include "conformance/sink_pump.h"

#include <algorithm>
#include <utility>

namespace outbox::test {

void SinkPump::completed(std::vector<Completion> completions) {
  const std::lock_guard lock(mutex_);
  std::ranges::move(completions, std::back_inserter(completions_));
  changed_.notify_all();
}

void SinkPump::add(RecordPtr record) {
  open_keys_.insert(record->key);
  keys_[record->key].waiting.push_back(std::move(record));
  ++left_;
}

bool SinkPump::run(std::chrono::milliseconds deadline, const std::function<void(std::size_t)>& between) {
  const auto end = std::chrono::steady_clock::now() + deadline;
  while (left_ > 0) {
    publish_what_may_be();
    std::vector<Completion> batch;
    {
      std::unique_lock lock(mutex_);
      if (!changed_.wait_until(lock, end, [&] { return !completions_.empty(); })) return false;
      batch = std::exchange(completions_, {});
    }
    for (const auto& completion : batch) take(completion);
    if (std::exchange(client_dead_, false)) {
      const auto reopened = sink_.reopen();
      if (!reopened) violations_.push_back("reopen failed: " + reopened.failure().what);
      const std::lock_guard lock(mutex_);
      for (const auto& completion : std::exchange(completions_, {})) take(completion);
      client_dead_ = false;
      if (!key_of_.empty()) violations_.push_back("something was in flight after reopen");
    }
    if (between) between(done_);
    if (std::chrono::steady_clock::now() > end) return left_ == 0;
  }
  return true;
}

void SinkPump::publish_what_may_be() {
  const Capabilities can = sink_.capabilities();
  std::vector<Publication> batch;
  for (auto at = open_keys_.begin(); at != open_keys_.end() && key_of_.size() < can.window_messages;) {
    Key& key = keys_[*at];
    const std::size_t most = can.pipelines_key ? can.window_messages : 1;
    while (key.failed.empty() && !key.waiting.empty() && key.in_flight.size() < most &&
           key_of_.size() < can.window_messages && bytes_in_flight_ < can.window_bytes) {
      RecordPtr record = std::move(key.waiting.front());
      key.waiting.pop_front();
      const DeliveryId id = ++last_id_;
      const bool first_in_key = key.in_flight.empty();
      key.in_flight.emplace(id, record);
      key_of_.emplace(id, record->key);
      bytes_in_flight_ += record->bytes();
      batch.push_back({id, std::move(record), destination_, 1, first_in_key});
    }
    at = key.waiting.empty() && key.in_flight.empty() ? open_keys_.erase(at) : std::next(at);
  }
  if (!batch.empty()) sink_.publish(batch);
}

void SinkPump::take(const Completion& completion) {
  const auto found = key_of_.find(completion.id);
  if (found == key_of_.end()) {
    violations_.push_back("completed twice, or never published: " + std::to_string(completion.id));
    return;
  }
  Key& key = keys_[found->second];
  key_of_.erase(found);
  const auto flight = key.in_flight.find(completion.id);
  RecordPtr record = std::move(flight->second);
  key.in_flight.erase(flight);
  bytes_in_flight_ -= record->bytes();

  const Verdict verdict = completion.outcome.verdict;
  client_dead_ = client_dead_ || verdict == Verdict::client_dead;
  const auto passed = std::ranges::find_if(key.failed, [&](const RecordPtr& each) { return each->seq < record->seq; });
  if (verdict == Verdict::delivered && passed != key.failed.end()) {
    violations_.push_back(record->id + " was delivered past " + (*passed)->id);
  }
  if (verdict == Verdict::delivered || verdict == Verdict::rejected) {
    ++done_;
    --left_;
    delivered_ += verdict == Verdict::delivered;
  } else {
    failures_.push_back(completion.outcome);
    key.failed.push_back(std::move(record));
  }
  requeue(key);
}

// Once nothing of the key is in flight any more, what failed goes again, in its order.
void SinkPump::requeue(Key& key) {
  if (key.failed.empty() || !key.in_flight.empty()) return;
  std::ranges::sort(key.failed, {}, [](const RecordPtr& each) { return each->seq; });
  key.waiting.insert(key.waiting.begin(), key.failed.begin(), key.failed.end());
  open_keys_.insert(key.waiting.front()->key);
  key.failed.clear();
}

}  // namespace outbox::test
