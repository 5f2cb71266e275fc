#include "sim_leases.h"

#include <algorithm>

#include "database.h"

namespace outbox::sim {

int lane_of(const std::string& key) {
  std::uint32_t hash = 2166136261u;
  for (const char c : key) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  return static_cast<int>((hash >> 8) % kLanes);
}

SimLeases::SimLeases(const Scenario& scenario, Loop& loop, Trace& trace)
    : scenario_(scenario), loop_(loop), trace_(trace) {
  rows_.emplace_back();
  if (scenario.mode == Mode::snapshot) rows_.back().position.from = kSeesNothing;
}

Result<Roster> SimLeases::renew(const std::string& relay, const std::string& process,
                                const std::vector<std::string>& feeds, Duration lease) {
  const bool had = valid(relay);
  until_[relay] = scenario_.mode == Mode::cursor ? kNever : loop_.now() + lease;
  if (!had) trace_("lease   {} has one for {} ms", relay, lease.count() / 1000);
  Roster roster;
  for (const auto& [name, until] : until_) {
    if (valid(name)) roster.holders.push_back({feeds.front(), name, process});
  }
  for (const Row& row : rows_) {
    roster.shares.push_back({feeds.front(), row.lanes, valid(row.owner) ? row.owner : ""});
  }
  return roster;
}

Result<void> SimLeases::give(const std::string& relay, const Share& share, int from) {
  Row* row = find(share.lanes);
  if (row == nullptr || row->owner != relay) return Failure{FailureKind::fenced, "not owned any more"};
  trace_("lease   {} gives the lanes {}-{} of {} away", relay, from, share.lanes.last, to_string(share.lanes));
  ++row->epoch;
  if (from == share.lanes.first) {
    row->owner.clear();
    return {};
  }
  Row part = *row;
  part.owner.clear();
  part.lanes.first = from;
  --part.epoch;
  row->lanes.last = from - 1;
  rows_.insert(rows_.begin() + (row - rows_.data()) + 1, part);
  return {};
}

Result<void> SimLeases::end(const std::string& relay) {
  if (until_.erase(relay) > 0) trace_("lease   of {} is ended", relay);
  return {};
}

bool SimLeases::valid(const std::string& relay) const {
  const auto found = until_.find(relay);
  return found != until_.end() && found->second > loop_.now();
}

SimLeases::Row* SimLeases::find(const Lanes& lanes) {
  const auto found = std::find_if(rows_.begin(), rows_.end(), [&](const Row& row) { return row.lanes == lanes; });
  return found == rows_.end() ? nullptr : &*found;
}

const SimLeases::Row* SimLeases::find(const Lanes& lanes) const { return const_cast<SimLeases*>(this)->find(lanes); }

const SimLeases::Row& SimLeases::of_lane(int lane) const {
  return *std::find_if(rows_.begin(), rows_.end(), [&](const Row& row) { return holds(row.lanes, lane); });
}

}  // namespace outbox::sim
