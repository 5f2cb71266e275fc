// SimLeases: who is there and which lanes belong to whom, with the meaning that store/leases.h gives it, on the
// database's clock. Every call takes effect at once; delays, failures and doubt are the driver's (process.h).
//
// One feed. Where a table is a file (cursor mode) a lease is a lock: it ends with the process and not before. The
// database's clock is set (Database::set_clock) only where one process is there: leases do without.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "loop.h"
#include "model/position.h"
#include "scenario.h"
#include "store/leases.h"
#include "trace.h"

namespace outbox::sim {

int lane_of(const std::string& key);
inline bool holds(const Lanes& lanes, int lane) { return lanes.first <= lane && lane <= lanes.last; }

class SimLeases final : public Leases {
 public:
  struct Row {
    Lanes lanes;
    std::string owner;
    std::uint64_t epoch = 0;
    Position position;
  };

  SimLeases(const Scenario& scenario, Loop& loop, Trace& trace);

  Result<Roster> renew(const std::string& relay, const std::string& process, const std::vector<std::string>& feeds,
                       Duration lease) override;
  Result<void> give(const std::string& relay, const Share& share, int from) override;
  Result<void> end(const std::string& relay) override;

  bool valid(const std::string& relay) const;
  // Null if the lanes are divided otherwise.
  Row* find(const Lanes& lanes);
  const Row* find(const Lanes& lanes) const;
  const Row& of_lane(int lane) const;
  const std::vector<Row>& rows() const { return rows_; }

 private:
  const Scenario& scenario_;
  Loop& loop_;
  Trace& trace_;
  std::map<std::string, Time> until_;  // by relay
  std::vector<Row> rows_;              // by lane; all lanes are somewhere
};

}  // namespace outbox::sim
