// What a relay says of its sinks in its heartbeat (Heartbeat::sinks_json), so that `outboxd status` can show it from
// another process.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "relay/runner.h"

namespace outbox {

struct SinkReport {
  std::string sink;
  std::string breaker;                  // closed, open, half_open
  std::string breaker_reason;           // why it is not closed
  std::string held_because;             // why nothing is read, or empty
  std::uint64_t held_destinations = 0;  // of a sink with several: they get nothing but a probe
  std::string held_destination_reason;  // why one of them is
  std::string last_error;
  Time last_error_at{};         // the epoch: not known, or none yet
  std::uint64_t delivered = 0;  // since the relay started
  double rate = 0;              // delivered per second since the last heartbeat
  std::uint64_t in_flight = 0;
  Time last_delivery{};  // the epoch: none yet
};

std::string to_json(std::span<const SinkReport> reports);
// Unknown members are skipped and missing ones keep their default: relays of two versions run side by side.
Result<std::vector<SinkReport>> parse_sink_reports(std::string_view json);

// Makes the reports of one relay; remembers the counts of the last time for the rates. One thread.
class SinkReporter {
 public:
  using Clock = std::chrono::steady_clock;
  // Asked for a sink's name; the epoch: nothing has failed yet.
  using LastFailure = std::function<Clock::time_point(const std::string&)>;

  std::vector<SinkReport> report(std::span<const FeedView> feeds, const LastFailure& last_failure,
                                 Clock::time_point now);

 private:
  struct Last {
    std::uint64_t delivered = 0;
    Clock::time_point at;
  };
  SinkReport report(const SinkView& view, Clock::time_point now);
  std::map<std::string, Last> last_;
};

}  // namespace outbox
