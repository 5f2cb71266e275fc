// Rows of the outbox table as an operator asks for them, beside what the positions or marks say of each sink.
#pragma once

#include "store/operator_store.h"
#include "store/postgres/session.h"

namespace outbox {

// Deliveries that have not left the stream: one row per message and sink that its routes name. `passed` chooses between
// sent and pending ones; what people discarded or replaced is neither. One message if `message_id` is not empty, and
// then also what its sink skipped, because it was there before.
Result<std::vector<DeliveryInfo>> stream_deliveries(PgSession& session, bool passed, const DeliveryFilter& filter,
                                                    const std::string& message_id,
                                                    const std::vector<RouteFilter>& routes, std::size_t limit);

// Null: the table has no such row.
Result<RecordPtr> outbox_record(PgSession& session, const std::string& message_id);

}  // namespace outbox
