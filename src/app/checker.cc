#include "app/checker.h"

#include <unordered_map>
#include <unordered_set>

namespace outbox {
namespace {

constexpr std::size_t kFaultsPerKind = 5;

void fault(std::int64_t& count, std::vector<std::string>& faults, std::string text) {
  if (static_cast<std::size_t>(++count) <= kFaultsPerKind) faults.push_back(std::move(text));
}

}  // namespace

Findings check(const Evidence& evidence) {
  Findings findings;
  std::unordered_map<std::string, const LedgerRow*> ledger;
  for (const auto& row : evidence.committed) ledger.emplace(row.id, &row);
  findings.committed = static_cast<std::int64_t>(ledger.size());
  findings.rolled_back = evidence.rolled_back;
  findings.effects = evidence.effects;

  std::unordered_set<std::string> seen;
  std::unordered_map<std::string, const LedgerRow*> newest;  // by key
  for (const auto& id : evidence.arrived) {
    if (!seen.insert(id).second) {
      ++findings.duplicates;
      continue;
    }
    const auto found = ledger.find(id);
    if (found == ledger.end()) {
      fault(findings.ghosts, findings.faults, "ghost: " + id + " arrived and was never committed");
      continue;
    }
    ++findings.delivered;
    if (evidence.unordered.contains(id)) continue;
    const LedgerRow& row = *found->second;
    auto& latest = newest[row.key];
    if (latest == nullptr || latest->n < row.n) {
      latest = &row;
      continue;
    }
    fault(findings.out_of_order, findings.faults,
          "out of order: " + row.key + " number " + std::to_string(row.n) + " (" + id + ") arrived after number " +
              std::to_string(latest->n) + " (" + latest->id + ")");
  }

  std::unordered_set<std::string> dead;
  for (const auto& id : evidence.dead) {
    if (!dead.insert(id).second) continue;
    ++findings.dead;
    if (!ledger.contains(id)) {
      fault(findings.ghosts, findings.faults, "ghost: " + id + " is a dead letter and was never committed");
    }
  }
  for (const auto& row : evidence.committed) {
    if (seen.contains(row.id) || dead.contains(row.id)) continue;
    fault(findings.lost, findings.faults,
          "lost: " + row.id + " (" + row.key + " number " + std::to_string(row.n) + ") was committed");
  }
  return findings;
}

}  // namespace outbox
