// Leases: who is there, and which lanes of a feed belong to whom. Several relays divide a feed into shares, ranges of
// its lanes; each share has a position of its own (Store), one owner, and an epoch that fences the owner before.
//
// A relay keeps a lease on each feed that it serves, and renews it well before it runs out. While it does, nobody else
// can take its shares over (Store::take_over). All times are the database's; the relay itself must hand nothing to a
// sink once the lease that it knows of has run out by its own clock, counted from before it asked.
//
// Thread: one at a time; each call blocks for a round trip or two, reconnects by itself, and is one transaction.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "model/lanes.h"

namespace outbox {

struct Share {
  std::string feed;
  Lanes lanes;
  std::string owner;  // "": nobody whose lease is valid

  bool operator==(const Share&) const = default;
};

struct LeaseHolder {
  std::string feed;
  std::string relay;
  std::string process;  // as it was given to renew()

  bool operator==(const LeaseHolder&) const = default;
};

struct Roster {
  std::vector<LeaseHolder> holders;  // with a valid lease
  std::vector<Share> shares;         // of every feed that has a position, by feed and lane
};

class Leases {
 public:
  virtual ~Leases() = default;

  // Extends the relay's leases on the feeds by `lease` from now, and says who else is there. A feed without any share
  // gets one over all lanes, owned by nobody. `process` tells a relay on the same machine whether this one still lives
  // (app/process_identity.h).
  virtual Result<Roster> renew(const std::string& relay, const std::string& process,
                               const std::vector<std::string>& feeds, Duration lease) = 0;

  // Gives the part of the relay's own share that starts at lane `from` to nobody; `from` == lanes.first: all of it.
  // Both parts keep the position. Only once nothing of the share is in flight and its last settle was answered.
  // `fenced` if the share is not the relay's.
  virtual Result<void> give(const std::string& relay, const Share& share, int from) = 0;

  // Ends all leases of a relay that is gone, so that its shares are free at once.
  virtual Result<void> end(const std::string& relay) = 0;
};

}  // namespace outbox
