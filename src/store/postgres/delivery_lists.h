// Deliveries as a person looks at them: by state, by filter, and all about one message.
#pragma once

#include "store/operator_store.h"
#include "store/postgres/session.h"

namespace outbox {

// As the functions of OperatorStore with these names.
Result<std::vector<DeliveryInfo>> list_deliveries(PgSession& session, ListedState state, const DeliveryFilter& filter,
                                                  const std::vector<RouteFilter>& routes, std::size_t limit);
Result<std::vector<DeliveryInfo>> find_parked(PgSession& session, const std::vector<std::string>& message_ids,
                                              const std::string& sink);
Result<MessageLife> read_life(PgSession& session, const std::string& message_id,
                              const std::vector<RouteFilter>& routes);
Result<RecordPtr> read_parked_record(PgSession& session, std::int64_t row);

}  // namespace outbox
