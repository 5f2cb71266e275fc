#include "support/fault_pipe.h"

#include <algorithm>

namespace outbox::test {

void FaultPipe::push(std::string_view bytes, Time now, const LinkFault& fault) {
  if (bytes.empty()) return;
  Time due = now + fault.delay;
  if (!chunks_.empty()) due = std::max(due, chunks_.back().due);  // nothing overtakes
  chunks_.push_back({std::string(bytes), due});
  size_ += bytes.size();
}

std::string_view FaultPipe::ready(Time now, const LinkFault& fault) const {
  if (fault.hold || chunks_.empty() || chunks_.front().due > now) return {};
  const std::string_view front = std::string_view(chunks_.front().bytes).substr(offset_);
  if (fault.bytes_per_second == 0) return front;
  if (gate_ > now) return {};
  const auto portion = static_cast<std::size_t>(std::max<std::int64_t>(fault.bytes_per_second / 20, 1));
  return front.substr(0, portion);
}

void FaultPipe::pop(std::size_t count, Time now, const LinkFault& fault) {
  if (fault.bytes_per_second > 0) {
    const auto takes = std::chrono::microseconds(static_cast<std::int64_t>(count) * 1'000'000 / fault.bytes_per_second);
    gate_ = std::max(gate_, now) + takes;
  }
  size_ -= count;
  offset_ += count;
  if (offset_ < chunks_.front().bytes.size()) return;
  chunks_.pop_front();
  offset_ = 0;
}

std::optional<FaultPipe::Time> FaultPipe::next(Time now, const LinkFault& fault) const {
  if (fault.hold || chunks_.empty()) return {};
  Time at = chunks_.front().due;
  if (fault.bytes_per_second > 0) at = std::max(at, gate_);
  if (at <= now) return {};
  return at;
}

}  // namespace outbox::test
