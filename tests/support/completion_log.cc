#include "support/completion_log.h"

namespace outbox::test {

void CompletionLog::completed(std::vector<Completion> completions) {
  std::lock_guard lock(mutex_);
  for (Completion& completion : completions) {
    if (!outcomes_.emplace(completion.id, completion.outcome).second) ++twice_;
    arrived_.push_back(std::move(completion));
  }
  changed_.notify_all();
}

bool CompletionLog::wait(std::size_t count, std::chrono::milliseconds deadline) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, deadline, [&] { return outcomes_.size() >= count; });
}

Outcome CompletionLog::wait_for(DeliveryId id, std::chrono::milliseconds deadline) {
  std::unique_lock lock(mutex_);
  if (!changed_.wait_for(lock, deadline, [&] { return outcomes_.contains(id); })) return unknown("no outcome", "");
  return outcomes_.at(id);
}

std::size_t CompletionLog::count() const {
  std::lock_guard lock(mutex_);
  return outcomes_.size();
}

std::size_t CompletionLog::count(Verdict verdict) const {
  std::lock_guard lock(mutex_);
  std::size_t count = 0;
  for (const auto& [id, outcome] : outcomes_) count += outcome.verdict == verdict;
  return count;
}

std::optional<Outcome> CompletionLog::outcome(DeliveryId id) const {
  std::lock_guard lock(mutex_);
  const auto found = outcomes_.find(id);
  if (found == outcomes_.end()) return std::nullopt;
  return found->second;
}

std::vector<Completion> CompletionLog::take() {
  std::lock_guard lock(mutex_);
  return std::exchange(arrived_, {});
}

std::size_t CompletionLog::completed_twice() const {
  std::lock_guard lock(mutex_);
  return twice_;
}

Record make_record(int number, const std::string& key, std::string payload) {
  Record record;
  record.seq = number;
  record.id = "m-" + std::to_string(number);
  record.aggregate_type = "order";
  record.aggregate_id = key;
  record.type = "Placed";
  record.key = make_key(record.aggregate_type, key);
  record.payload = std::move(payload);
  record.created_at = Time(std::chrono::seconds(1'700'000'000));
  return record;
}

Publication publication(DeliveryId id, Record record, const std::string& destination) {
  return {id, std::make_shared<const Record>(std::move(record)), destination, 1};
}

}  // namespace outbox::test
