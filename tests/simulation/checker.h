// Checker: the end result against the truth (design 1). It knows no product: the ledger that the business transactions
// wrote, what arrived at one far end in order, and what stands in the dead letters.
#pragma once

#include <set>
#include <string>
#include <vector>

namespace outbox::sim {

struct LedgerEntry {
  std::string id;
  std::string key;
  int n = 0;            // the true order among the messages of the key
  bool exempt = false;  // takes its place when it is released: a dead letter, one that was not due, one handled by hand
};

struct CheckResult {
  std::vector<std::string> lost;          // committed, neither delivered nor dead
  std::vector<std::string> ghosts;        // delivered, never committed
  std::vector<std::string> out_of_order;  // "m7 before m3"
  int committed = 0;
  int delivered = 0;  // once each
  int duplicates = 0;
  int dead = 0;

  bool clean() const { return lost.empty() && ghosts.empty() && out_of_order.empty(); }
  std::string text() const;
};

CheckResult check(const std::vector<LedgerEntry>& ledger, const std::vector<std::string>& arrived,
                  const std::set<std::string>& dead);

}  // namespace outbox::sim
