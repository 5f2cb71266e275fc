#include "sink/kafka/key_gate.h"

#include <algorithm>

namespace outbox::kafka {
namespace {

// For keys of which nothing comes any more. The relay takes outcomes in within milliseconds.
constexpr std::size_t kSweepAt = 20'000;
constexpr auto kForgottenAfter = std::chrono::minutes(1);

}  // namespace

void KeyGate::given_back(const Record& record, Clock::time_point now) {
  if (shut_.size() >= kSweepAt) {
    std::erase_if(shut_, [now](const auto& entry) { return now >= entry.second.last + kForgottenAfter; });
  }
  Shut& shut = shut_[record.key];
  shut.message_ids.push_back(record.id);
  shut.last = now;
}

void KeyGate::confirmed(const Record& record) {
  if (shut_.empty()) return;
  const auto found = shut_.find(record.key);
  if (found == shut_.end()) return;
  std::erase(found->second.message_ids, record.id);
  if (found->second.message_ids.empty()) shut_.erase(found);
}

bool KeyGate::passes(const Record& record, bool first_in_key) {
  if (shut_.empty()) return true;
  const auto found = shut_.find(record.key);
  if (found == shut_.end()) return true;
  std::deque<std::string>& ids = found->second.message_ids;
  const auto at = first_in_key ? ids.end() - 1 : std::ranges::find(ids, record.id);
  if (at == ids.end()) return false;
  ids.erase(ids.begin(), at + 1);
  if (ids.empty()) shut_.erase(found);
  return true;
}

}  // namespace outbox::kafka
