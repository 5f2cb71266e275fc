// What `outboxd status` shows: the store's counts and the living relays' own words, joined by sink.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "admin/sink_report.h"
#include "store/store.h"

namespace outbox::app {

struct SinkLine {
  SinkStatus stored;
  SinkReport live;     // of the relay that was seen last
  std::string relay;   // empty: none has said anything of the sink
  bool alive = false;  // false: it stopped, or is gone; only what it said last of errors counts
};

struct StatusReport {
  StoreStatus store;
  std::map<std::string, SinkLine> sinks;
};

// A relay that has not been seen for this long counts as gone.
inline constexpr Duration kRelaySilent{15s};
inline bool is_alive(const RelayStatus& relay, Time database_now) {
  return !relay.stopped && database_now - relay.seen_at < kRelaySilent;
}

StatusReport make_status_report(StoreStatus store, const std::vector<std::string>& sinks);

// The newest of what a relay said and what stands with a parked delivery. Nothing is said of what is over: what was
// delivered since, with nothing waiting or dead.
struct LastError {
  std::string what;        // empty: none
  std::optional<Time> at;  // empty: now (a breaker is open, nothing is read), or of an older relay
  std::string relay;       // who said so; empty: a parked delivery
};
LastError last_error(const SinkLine& line);

std::string status_text(const StatusReport& report);
std::string status_json(const StatusReport& report);

}  // namespace outbox::app
