#include "sink/nats/unconfirmed.h"

#include <utility>

namespace outbox::nats {

Publication Unconfirmed::send_next(Clock::time_point now) {
  Publication next = std::move(waiting_.front());
  waiting_.pop_front();
  sent_.emplace(next.id, next);
  order_.push_back({next.id, now});
  return next;
}

std::string Unconfirmed::message_of(DeliveryId id) const {
  const auto found = sent_.find(id);
  return found == sent_.end() ? "" : found->second.record->id;
}

bool Unconfirmed::take(DeliveryId id) {
  const bool held = sent_.erase(id) > 0;
  forget_answered();
  return held;
}

std::vector<DeliveryId> Unconfirmed::take_subject(std::string_view subject) {
  std::vector<DeliveryId> taken;
  for (const Sent& sent : order_) {
    const auto found = sent_.find(sent.id);
    if (found == sent_.end() || found->second.destination != subject) continue;
    taken.push_back(sent.id);
    sent_.erase(found);
  }
  return taken;
}

std::vector<DeliveryId> Unconfirmed::take_sent_until(Clock::time_point then) {
  std::vector<DeliveryId> taken;
  for (; !order_.empty() && order_.front().at <= then; order_.pop_front()) {
    if (sent_.erase(order_.front().id) > 0) taken.push_back(order_.front().id);
  }
  return taken;
}

std::vector<DeliveryId> Unconfirmed::take_all() {
  std::vector<DeliveryId> taken;
  for (const Sent& sent : std::exchange(order_, {})) {
    if (sent_.erase(sent.id) > 0) taken.push_back(sent.id);
  }
  for (const Publication& publication : std::exchange(waiting_, {})) taken.push_back(publication.id);
  return taken;
}

std::optional<Clock::time_point> Unconfirmed::oldest_sent() {
  forget_answered();
  if (order_.empty()) return std::nullopt;
  return order_.front().at;
}

void Unconfirmed::forget_answered() {
  while (!order_.empty() && !sent_.contains(order_.front().id)) order_.pop_front();
}

}  // namespace outbox::nats
