// What the sink holds: the publications without an outcome, in the order in which they were published, and the topics
// that they go to. Plain bookkeeping, guarded by the sink's mutex.
#pragma once

#include <chrono>
#include <cstddef>
#include <list>
#include <string>
#include <unordered_map>
#include <vector>

#include "model/outcome.h"
#include "model/record.h"
#include "sink/kafka/handles.h"

namespace outbox::kafka {

using Clock = std::chrono::steady_clock;

struct Held;

struct Topic {
  enum class State {
    asking,   // the cluster was asked about it; what comes meanwhile waits here
    ready,    // it exists
    refused,  // the cluster refused it; so is everything for it until refused_until
  };
  std::string name;
  State state = State::asking;
  TopicHandle handle;
  std::size_t payload_max = 0;  // max.message.bytes; 0: not known
  std::vector<Held*> waiting;
  std::size_t produced = 0;       // given to the producer, no report yet
  Clock::time_point progress_at;  // last confirmation, or when `produced` left zero
  Clock::time_point refused_until;
  Outcome refusal;
};

struct Held {
  DeliveryId id = 0;
  RecordPtr record;
  Topic* topic = nullptr;
  bool produced = false;
  std::list<Held>::iterator self;
};

// Addresses of elements are stable: they are the producer's opaque pointers.
class InFlight {
 public:
  Held& add(DeliveryId id, RecordPtr record, Topic& topic) {
    if (free_.empty()) free_.emplace_back();
    held_.splice(held_.end(), free_, free_.begin());
    Held& held = held_.back();
    held.self = std::prev(held_.end());
    held.id = id;
    held.record = std::move(record);
    held.topic = &topic;
    held.produced = false;
    return held;
  }

  // Returns the record, so that its memory is freed outside the lock.
  RecordPtr release(Held& held) {
    RecordPtr record = std::move(held.record);
    free_.splice(free_.begin(), held_, held.self);
    return record;
  }

  std::size_t size() const { return held_.size(); }
  bool empty() const { return held_.empty(); }
  auto begin() const { return held_.begin(); }
  auto end() const { return held_.end(); }
  Held& front() { return held_.front(); }

 private:
  std::list<Held> held_;
  std::list<Held> free_;
};

// Node-based: pointers to topics stay valid.
using Topics = std::unordered_map<std::string, Topic>;

}  // namespace outbox::kafka
