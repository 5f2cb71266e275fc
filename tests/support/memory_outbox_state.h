// Inside of MemoryOutbox, shared by its store and its source.
#pragma once

#include <map>
#include <mutex>
#include <set>

#include "support/memory_outbox.h"

namespace outbox::test {

struct MemoryOutbox::State {
  struct Place {
    std::uint64_t epoch = 0;
    Position position;
  };

  mutable std::mutex mutex;
  Duration advanced{0};
  Fault fault;
  std::map<std::int64_t, RecordPtr> rows;  // by seq
  std::int64_t last_seq = 0;
  std::set<std::int64_t> marked;
  std::map<std::string, Place> places;  // by feed
  std::vector<ParkedRow> parked;        // in ord
  std::int64_t last_row = 0;
  std::map<std::string, RelayStatus> relays;
  std::vector<SinkPause> pauses;

  Time now() const { return std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now()) + advanced; }
  Result<void> check(const std::string& call) const {
    if (!fault) return {};
    return fault(call);
  }
};

}  // namespace outbox::test
