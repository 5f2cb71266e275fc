// Rows of the application's file as an operator asks for them, beside what the positions say of each sink.
#pragma once

#include <string>
#include <vector>

#include "store/operator_store.h"
#include "store/sqlite/operations.h"

namespace outbox {

// Deliveries that have not left the stream: one per message and sink that the routes name and that has a position.
// `passed`: sent ones, newest first, without those that people discarded or replaced; else pending ones, oldest first.
// One message if `message_id` is not empty, and then also what its sink skipped, because it was there before.
Result<std::vector<DeliveryInfo>> stream_deliveries(const SqliteFiles& files, bool passed, const DeliveryFilter& filter,
                                                    const std::string& message_id,
                                                    const std::vector<RouteFilter>& routes, std::size_t limit);

// Null: the table has no such row.
Result<RecordPtr> application_record(const SqliteFiles& files, const std::string& message_id);

}  // namespace outbox
