// The checker: what really happened against what should have. It knows no product and trusts no table of
// ours: *committed* is a ledger that the business transactions wrote beside their messages, *arrived* is what the far
// end took, in its order.
//
//   committed = delivered ∪ dead, delivered ⊆ committed, first deliveries of a key in the ledger's order.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace outbox {

struct LedgerRow {
  std::string id;
  std::string key;
  std::int64_t n = 0;  // counts the messages of the key, taken while the aggregate was locked: the true order
};

struct Evidence {
  std::vector<LedgerRow> committed;  // commits in doubt resolved; in any order
  std::int64_t rolled_back = 0;
  std::vector<std::string> arrived;  // message ids as the far end took them, repeats included
  std::int64_t effects = 0;          // what the far end did about them; a repeat has none
  std::vector<std::string> dead;     // ids in the dead letters
  // Messages that take their place when they are released (requeued, or not due at first): free of the order.
  std::set<std::string> unordered;
};

struct Findings {
  std::int64_t committed = 0;
  std::int64_t rolled_back = 0;
  std::int64_t delivered = 0;   // distinct committed messages that arrived
  std::int64_t duplicates = 0;  // arrivals beyond the first of each
  std::int64_t effects = 0;
  std::int64_t lost = 0;          // committed, but neither arrived nor dead
  std::int64_t ghosts = 0;        // arrived or dead, but never committed
  std::int64_t out_of_order = 0;  // first arrivals behind a later one of their key
  std::int64_t dead = 0;
  std::vector<std::string> faults;  // the first of each kind, a line each, for whoever has to look

  // Nothing lost, no ghost, no inversion, and no more effects than messages.
  bool clean() const { return lost == 0 && ghosts == 0 && out_of_order == 0 && effects <= delivered; }
};

Findings check(const Evidence& evidence);

}  // namespace outbox
