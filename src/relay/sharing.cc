#include "relay/sharing.h"

#include <algorithm>
#include <map>

namespace outbox {

namespace {

// Lanes of the feed per relay that has a lease on it. Ties go to the lesser name, so that all see the same.
using Loads = std::map<std::string, int>;

Loads loads_of(const Roster& roster, const std::string& feed) {
  Loads loads;
  for (const LeaseHolder& holder : roster.holders) {
    if (holder.feed == feed) loads[holder.relay] = 0;
  }
  for (const Share& share : roster.shares) {
    if (share.feed == feed && !share.owner.empty()) loads[share.owner] += share.lanes.size();
  }
  return loads;
}

bool less_loaded(const Loads::value_type& a, const Loads::value_type& b) { return a.second < b.second; }

// The whole share that evens things out best, or a piece of the largest one.
std::optional<SharingMove> give(const std::vector<Share>& own, int surplus) {
  const Share* best = nullptr;
  for (const Share& share : own) {
    const int size = share.lanes.size();
    if (size < 2 * surplus && (best == nullptr || std::abs(size - surplus) < std::abs(best->lanes.size() - surplus))) {
      best = &share;
    }
  }
  const Share& largest = *std::max_element(
      own.begin(), own.end(), [](const Share& a, const Share& b) { return a.lanes.size() < b.lanes.size(); });
  const bool cut_fits = surplus >= kLanesMin && largest.lanes.size() - surplus >= kLanesMin;
  if (best != nullptr && (!cut_fits || 2 * std::abs(best->lanes.size() - surplus) <= surplus)) {
    return SharingMove{SharingMove::Kind::give, *best, best->lanes.first};
  }
  if (!cut_fits) return std::nullopt;
  return SharingMove{SharingMove::Kind::give, largest, largest.lanes.last - surplus + 1};
}

}  // namespace

std::vector<SharingMove> next_moves(const Roster& roster, const std::string& relay, const std::string& feed,
                                    bool divisible) {
  Loads loads = loads_of(roster, feed);
  if (!loads.contains(relay)) return {};
  std::vector<SharingMove> moves;
  std::vector<Share> own;
  bool any_free = false;
  for (const Share& share : roster.shares) {
    if (share.feed != feed) continue;
    if (share.owner == relay) own.push_back(share);
    if (!share.owner.empty()) continue;
    any_free = true;
    // In lane order, each to who has least then: all relays come to the same result.
    const auto least = std::min_element(loads.begin(), loads.end(), less_loaded);
    if (least->first == relay) moves.push_back({SharingMove::Kind::take, share, 0});
    least->second += share.lanes.size();
  }
  if (any_free || !divisible || own.empty()) return moves;
  const auto most = std::max_element(loads.begin(), loads.end(), less_loaded);
  const auto least = std::min_element(loads.begin(), loads.end(), less_loaded);
  if (most->first != relay || most == least) return moves;
  const int surplus = (most->second - least->second) / 2;
  if (surplus < kLanesMin) return moves;
  if (auto move = give(own, surplus)) moves.push_back(*move);
  return moves;
}

}  // namespace outbox
