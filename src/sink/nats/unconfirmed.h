// Unconfirmed: what the sink has taken over and not reported yet. Waiting messages have not been given to the client;
// sent ones have, and an answer is due. Plain bookkeeping, guarded by the sink's mutex.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "sink/sink.h"

namespace outbox::nats {

using Clock = std::chrono::steady_clock;

class Unconfirmed {
 public:
  void add(const Publication& publication) { waiting_.push_back(publication); }

  bool has_waiting() const { return !waiting_.empty(); }
  bool empty() const { return waiting_.empty() && sent_.empty(); }

  // The oldest waiting one counts as sent from now on.
  Publication send_next(Clock::time_point now);

  // The id of a message that was sent; empty if it is not held (any more).
  std::string message_of(DeliveryId id) const;

  // False if it is not held (any more): it was given back, and its answer came late.
  bool take(DeliveryId id);
  // Those sent to this subject.
  std::vector<DeliveryId> take_subject(std::string_view subject);
  // Those sent at or before `then`.
  std::vector<DeliveryId> take_sent_until(Clock::time_point then);
  std::vector<DeliveryId> take_all();

  // When the oldest sent one was sent; nullopt if none is.
  std::optional<Clock::time_point> oldest_sent();

 private:
  struct Sent {
    DeliveryId id;
    Clock::time_point at;
  };
  void forget_answered();

  std::deque<Publication> waiting_;
  std::unordered_map<DeliveryId, Publication> sent_;
  std::deque<Sent> order_;  // as sent; what is not in sent_ was answered
};

}  // namespace outbox::nats
