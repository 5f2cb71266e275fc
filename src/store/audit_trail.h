// What the rows of outbox_audit say, the same in every store: written, and read again for a message whose parked
// delivery is not kept any more. Pure.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "store/operator_store.h"

namespace outbox {

// How the audit's detail begins for a dead letter that was replaced, and for what was sent in its place. What the dead
// letter had died of follows (died_of).
inline constexpr std::string_view kReplacedBy = "by ";
inline constexpr std::string_view kInPlaceOf = "in place of ";
inline std::string audit_detail(std::string_view what, const std::string& other_id, const std::string& died_of) {
  return std::string(what) + other_id + "; " + died_of;
}

// The id in such a detail; empty if it is none.
inline std::string id_in_detail(std::string_view what, std::string_view detail) {
  if (!detail.starts_with(what)) return {};
  detail.remove_prefix(what.size());
  return std::string(detail.substr(0, std::min(detail.find("; died of "), detail.size())));
}

// What is written of a dead letter that is sent with another payload, under its own id or (`new_id`) under another.
struct AuditLine {
  std::string action;
  std::string message_id;
  std::string detail;
};
inline std::vector<AuditLine> audit_of_replacement(const std::string& message_id, const std::string& new_id,
                                                   const std::string& died_of) {
  if (new_id.empty()) return {{"requeued", message_id, "with another payload; " + died_of}};
  return {{"replaced", message_id, audit_detail(kReplacedBy, new_id, died_of)},
          {"requeued", new_id, audit_detail(kInPlaceOf, message_id, died_of)}};
}

// Dead letters that dead_letters.retain took: the audit's reason and detail.
inline constexpr const char* kRetained = "dead_letters.retain";
inline std::string retained_detail(std::int64_t count, Duration retain) {
  return std::to_string(count) + (count == 1 ? " dead letter" : " dead letters") + " older than " + to_text(retain);
}

// Completes `life` by its audit: deliveries of which nothing else is left, and who closed which, and what took whose
// place.
inline void add_what_people_did(const std::string& message_id, MessageLife& life) {
  for (const AuditEntry& entry : life.audit) {
    bool closed = entry.action == "discarded" || entry.action == "replaced";
    if (!closed && entry.action != "requeued") continue;
    auto& deliveries = life.deliveries;
    auto of_sink = std::find_if(deliveries.begin(), deliveries.end(),
                                [&](const DeliveryInfo& each) { return each.sink == entry.sink; });
    if (of_sink == deliveries.end()) {
      DeliveryInfo gone;
      gone.message_id = message_id;
      gone.sink = entry.sink;
      gone.state = "finished";
      of_sink = deliveries.insert(of_sink, std::move(gone));
    }
    const std::string replaces = id_in_detail(kInPlaceOf, entry.detail);
    if (!replaces.empty()) of_sink->replaces = replaces;
    if (of_sink->row == 0 && of_sink->state == "finished") of_sink->changed_at = entry.at;
    // A sink of that name that was forgotten and named again has it anew.
    closed = closed && (of_sink->state == "discarded" || of_sink->state == "finished" || of_sink->state == "sent");
    if (!closed) continue;
    of_sink->state = "discarded";
    of_sink->reason = entry.action;
    of_sink->changed_at = entry.at;
    of_sink->closed_by = entry.actor;
    of_sink->closed_reason = entry.reason;
    if (entry.action == "replaced") of_sink->replaced_by = id_in_detail(kReplacedBy, entry.detail);
  }
}

}  // namespace outbox
