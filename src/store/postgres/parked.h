// Questions about parked deliveries.
#pragma once

#include "store/postgres/session.h"
#include "store/store.h"

namespace outbox {

// As the functions of Store with these names.
Result<std::vector<ParkedRun>> parked_due(PgSession& session, const std::string& sink, const Lanes& lanes,
                                          std::size_t max_keys, std::size_t run_max,
                                          const std::vector<std::string>& except);
Result<Store::Parking> parked_summary(PgSession& session, const std::string& sink, const Lanes& lanes);
Result<PageFacts> parked_facts(PgSession& session, const std::string& sink, const std::vector<std::string>& keys,
                               const std::vector<std::string>& message_ids);

}  // namespace outbox
