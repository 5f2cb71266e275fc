#include "support/memory_outbox.h"

#include <algorithm>

#include "support/memory_outbox_state.h"

namespace outbox::test {

class MemorySource final : public Source {
 public:
  MemorySource(std::shared_ptr<MemoryOutbox::State> state, bool positions)
      : state_(std::move(state)), positions_(positions) {}

  Result<void> open(const Position& start) override {
    const std::lock_guard lock(state_->mutex);
    if (auto fine = state_->check("open"); !fine) return fine;
    cursor_ = positions_ ? start.seq : 0;
    return {};
  }

  Result<Page> fetch(std::size_t max_records, std::size_t max_bytes) override {
    const std::lock_guard lock(state_->mutex);
    if (auto fine = state_->check("fetch"); !fine) return fine.failure();
    Page page;
    page.database_now = state_->now();
    std::size_t bytes = 0;
    for (auto at = state_->rows.upper_bound(cursor_); at != state_->rows.end(); ++at) {
      if (page.records.size() == max_records || (bytes >= max_bytes && !page.records.empty())) {
        page.full = true;
        break;
      }
      cursor_ = at->first;
      if (!positions_ && state_->marked.contains(cursor_)) continue;
      page.records.push_back(at->second);
      bytes += at->second->bytes();
    }
    if (!positions_ && !page.full) cursor_ = 0;
    return page;
  }

  bool repeats() const override { return !positions_; }

 private:
  std::shared_ptr<MemoryOutbox::State> state_;
  bool positions_;
  std::int64_t cursor_ = 0;
};

MemoryOutbox::MemoryOutbox() : state_(std::make_shared<State>()) {}

std::int64_t MemoryOutbox::insert(Record record) {
  const std::lock_guard lock(state_->mutex);
  record.seq = ++state_->last_seq;
  record.key = make_key(record.aggregate_type, record.aggregate_id);
  if (record.created_at == Time{}) record.created_at = state_->now();
  const auto seq = record.seq;
  state_->rows.emplace(seq, std::make_shared<const Record>(std::move(record)));
  return seq;
}

Time MemoryOutbox::now() const {
  const std::lock_guard lock(state_->mutex);
  return state_->now();
}

void MemoryOutbox::advance(Duration by) {
  const std::lock_guard lock(state_->mutex);
  state_->advanced += by;
}

void MemoryOutbox::set_fault(Fault fault) {
  const std::lock_guard lock(state_->mutex);
  state_->fault = std::move(fault);
}

std::unique_ptr<Source> MemoryOutbox::source(bool positions) {
  return std::make_unique<MemorySource>(state_, positions);
}

std::size_t MemoryOutbox::rows() const {
  const std::lock_guard lock(state_->mutex);
  return state_->rows.size();
}

std::size_t MemoryOutbox::unsettled(const std::string& sink) const {
  const std::lock_guard lock(state_->mutex);
  if (sink == "*") return state_->rows.size() - state_->marked.size();
  const auto place = state_->places.find(sink);
  const Position position = place == state_->places.end() ? Position{} : place->second.position;
  const auto behind = std::distance(state_->rows.upper_bound(position.seq), state_->rows.end());
  return static_cast<std::size_t>(behind) - position.ahead.size();
}

Position MemoryOutbox::position(const std::string& sink) const {
  const std::lock_guard lock(state_->mutex);
  const auto place = state_->places.find(sink);
  return place == state_->places.end() ? Position{} : place->second.position;
}

std::vector<MemoryOutbox::ParkedRow> MemoryOutbox::parked(const std::string& sink) const {
  const std::lock_guard lock(state_->mutex);
  std::vector<ParkedRow> rows;
  std::copy_if(state_->parked.begin(), state_->parked.end(), std::back_inserter(rows),
               [&](const ParkedRow& each) { return each.park.sink == sink; });
  return rows;
}

void MemoryOutbox::discard(std::int64_t row) {
  const std::lock_guard lock(state_->mutex);
  for (auto& each : state_->parked) {
    if (each.row == row) each.state = "done";
  }
}

void MemoryOutbox::requeue(std::int64_t row) {
  const std::lock_guard lock(state_->mutex);
  for (auto& each : state_->parked) {
    if (each.row != row || each.state != "dead") continue;
    each.state = "waiting";
    each.park.attempts = 0;
    ++each.replays;
    each.park.holds_key = false;
    each.park.next_attempt = state_->now();
  }
}

void MemoryOutbox::set_pauses(std::vector<SinkPause> pauses) {
  const std::lock_guard lock(state_->mutex);
  state_->pauses = std::move(pauses);
}

}  // namespace outbox::test
