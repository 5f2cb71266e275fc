// ConfirmLedger: which publication stands behind each delivery tag of one channel. The broker counts tags from 1 as
// messages come; it confirms them one by one or all up to a tag, in any order, and a message that no queue wanted is
// returned first and acked all the same. Plain bookkeeping.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "model/outcome.h"
#include "model/record.h"
#include "sink/rabbitmq/address.h"

namespace outbox::rabbitmq {

using Clock = std::chrono::steady_clock;

// A publication that has no outcome yet.
struct Held {
  DeliveryId id = 0;
  RecordPtr record;
  Address address;
};

class ConfirmLedger {
 public:
  // It gets the next tag: add before, or right after, publishing, and before the next frame is read.
  void add(Held held, Clock::time_point now);

  // basic.return: marks the oldest message of that id that was not returned yet.
  void returned(std::string_view message_id, std::string why);
  // basic.ack and basic.nack. A tag that is not known says nothing.
  void confirmed(std::uint64_t tag, bool multiple, bool acked, std::vector<Completion>& outcomes);

  // Gives back what was added before `since`, and goes on listening for it: see adopt().
  std::vector<Held> give_back(Clock::time_point since);
  // The same message, to the same address, published once more after it was given back: it need not be sent again. Its
  // outcome where the broker has confirmed it meanwhile; otherwise it waits for the confirmation, as before.
  enum class Adoption { none, waits, delivered };
  Adoption adopt(const Held& held, Clock::time_point now);
  // Gives back everything, in the order of the tags, and begins anew: the channel is gone.
  std::vector<Held> take_all();

  bool empty() const { return entries_.size() == given_back_.size(); }
  // Without those that were given back.
  std::size_t size() const { return entries_.size() - given_back_.size(); }
  // When the oldest of them was added; max() if there is none.
  Clock::time_point oldest() const;

 private:
  struct Entry {
    Held held;
    Clock::time_point added;
    bool given_back = false;
    bool returned = false;
    std::string why;
  };
  using Entries = std::map<std::uint64_t, Entry>;

  Outcome judge(Entry& entry, bool acked) const;
  void settle(Entry& entry, bool acked, std::vector<Completion>& outcomes);

  Entries entries_;
  std::uint64_t last_tag_ = 0;
  std::map<std::string, std::uint64_t, std::less<>> given_back_;  // message id → tag
  std::map<std::string, Held, std::less<>> confirmed_late_;       // by message id
};

std::string receipt(const Address& address);

}  // namespace outbox::rabbitmq
