#include "checker.h"

#include <fmt/format.h>

#include <map>

namespace outbox::sim {

CheckResult check(const std::vector<LedgerEntry>& ledger, const std::vector<std::string>& arrived,
                  const std::set<std::string>& dead) {
  CheckResult result;
  std::map<std::string, const LedgerEntry*> committed;
  for (const auto& entry : ledger) committed[entry.id] = &entry;
  result.committed = static_cast<int>(committed.size());
  result.dead = static_cast<int>(dead.size());

  std::set<std::string> seen;
  std::map<std::string, const LedgerEntry*> last;  // of each key, the first delivery that stands furthest
  for (const auto& id : arrived) {
    if (!seen.insert(id).second) {
      ++result.duplicates;
      continue;
    }
    const auto entry = committed.find(id);
    if (entry == committed.end()) {
      result.ghosts.push_back(id);
      continue;
    }
    ++result.delivered;
    if (entry->second->exempt) continue;
    auto& before = last[entry->second->key];
    if (before != nullptr && before->n > entry->second->n) {
      result.out_of_order.push_back(fmt::format("{} before {} of {}", before->id, id, entry->second->key));
    } else {
      before = entry->second;
    }
  }
  for (const auto& [id, entry] : committed) {
    if (!seen.contains(id) && !dead.contains(id)) result.lost.push_back(id);
  }
  return result;
}

std::string CheckResult::text() const {
  std::string text =
      fmt::format("committed {} · delivered {} · dead {} · duplicates {}", committed, delivered, dead, duplicates);
  for (const auto& each : lost) text += " · lost " + each;
  for (const auto& each : ghosts) text += " · ghost " + each;
  for (const auto& each : out_of_order) text += " · out of order: " + each;
  return text;
}

}  // namespace outbox::sim
