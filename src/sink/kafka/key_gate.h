// KeyGate: keeps a key's order where messages are given back without being final. The relay may have published later
// messages of the key before it hears of it; those must not pass.
//
// What was given back shuts its key, in the order in which the relay hears of it. A message that comes again shows
// that the relay has heard of it and of all before it; what it has not sent again of those, it has parked. So the
// message passes, and those are forgotten. While any are left, a message that was not given back yet is, unless the
// relay says that it has heard of all (Publication::first_in_key).
#pragma once

#include <chrono>
#include <deque>
#include <string>
#include <unordered_map>

#include "model/record.h"

namespace outbox::kafka {

class KeyGate {
 public:
  using Clock = std::chrono::steady_clock;

  void given_back(const Record& record, Clock::time_point now);
  // It was to be given back, and its confirmation came first.
  void confirmed(const Record& record);
  bool passes(const Record& record, bool first_in_key);

  std::size_t size() const { return shut_.size(); }

 private:
  struct Shut {
    std::deque<std::string> message_ids;
    Clock::time_point last;
  };
  std::unordered_map<std::string, Shut> shut_;
};

}  // namespace outbox::kafka
