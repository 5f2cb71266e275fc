// Sharing: how relays divide a feed's lanes among themselves. Each relay decides for itself, from the same roster, and
// no two decisions collide: what is free is taken by who has least (a race is settled by Store::take_over), and only
// who has most gives, once nothing is free. So a joiner is served within two rounds, and nothing is handed to and fro.
//
// Whole shares are given before one is cut; a share is never cut below kLanesMin, so shares stay few.
//
// No thread, clock or SQL.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "store/leases.h"

namespace outbox {

inline constexpr int kLanesMin = 4;

struct SharingMove {
  enum class Kind { take, give };
  Kind kind = Kind::take;
  Share share;
  int from = 0;  // give: from this lane on; share.lanes.first: all of it

  bool operator==(const SharingMove&) const = default;
};

// What this relay is to do about one feed now, at most one give. `divisible`: shares may be cut; false: the feed has
// one owner, and the others stand by.
std::vector<SharingMove> next_moves(const Roster& roster, const std::string& relay, const std::string& feed,
                                    bool divisible);

}  // namespace outbox
