// One message's life, put together from what a store finds: the same in every store.
#pragma once

#include <algorithm>
#include <functional>
#include <utility>

#include "store/audit_trail.h"
#include "store/operator_store.h"

namespace outbox {

struct LifeParts {
  std::function<Result<std::vector<AuditEntry>>()> audit;
  std::function<Result<RecordPtr>()> record;  // of the outbox table; null: it is not there
  std::function<Result<std::vector<DeliveryInfo>>()> parked;
  std::function<Result<std::vector<DeliveryInfo>>(bool passed)> streamed;  // asked where the record is in the table
  std::function<Result<RecordPtr>(std::int64_t row)> parked_record;        // asked where it is not
};

// What is parked counts before what the stream says of the same sink.
inline Result<MessageLife> put_together(const std::string& message_id, const LifeParts& parts) {
  MessageLife life;
  auto audit = parts.audit();
  if (!audit) return audit.failure();
  life.audit = *std::move(audit);
  auto record = parts.record();
  if (!record) return record.failure();
  life.record = *std::move(record);
  life.in_table = life.record != nullptr;
  auto parked = parts.parked();
  if (!parked) return parked.failure();
  life.deliveries = *std::move(parked);
  for (const bool passed : {false, true}) {
    if (!life.in_table) break;
    auto streamed = parts.streamed(passed);
    if (!streamed) return streamed.failure();
    for (DeliveryInfo& each : *streamed) {
      const bool known = std::any_of(life.deliveries.begin(), life.deliveries.end(),
                                     [&](const DeliveryInfo& other) { return other.sink == each.sink; });
      if (!known) life.deliveries.push_back(std::move(each));
    }
  }
  for (const DeliveryInfo& each : life.deliveries) {
    if (life.record || each.row == 0) continue;
    auto kept = parts.parked_record(each.row);
    if (!kept) return kept.failure();
    life.record = *std::move(kept);
  }
  add_what_people_did(message_id, life);
  return life;
}

}  // namespace outbox
