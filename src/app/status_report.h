// What `outboxd status` shows: the store's counts and the living relays' own words, joined by sink.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "admin/sink_report.h"
#include "store/store.h"

namespace outbox::app {

struct SinkLine {
  SinkStatus stored;
  SinkReport live;  // of the relay that was seen last; `relay` empty: no relay runs
  std::string relay;
};

struct StatusReport {
  StoreStatus store;
  std::map<std::string, SinkLine> sinks;
};

// A relay that has not been seen for this long counts as gone.
inline constexpr Duration kRelaySilent{15s};

StatusReport make_status_report(StoreStatus store, const std::vector<std::string>& sinks);

std::string status_text(const StatusReport& report);
std::string status_json(const StatusReport& report);

}  // namespace outbox::app
