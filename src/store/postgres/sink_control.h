// Sinks paused, resumed and forgotten.
#pragma once

#include "store/operator_store.h"
#include "store/postgres/session.h"

namespace outbox {

// As the functions of OperatorStore with these names.
Result<bool> pause_sink(PgSession& session, const std::string& sink, const Act& act);
Result<bool> resume_sink(PgSession& session, const std::string& sink, const Act& act);
Result<SinkHoldings> sink_holdings(PgSession& session, const std::string& sink);
Result<bool> forget_sink(PgSession& session, const std::string& sink, std::size_t max_rows, const Act& act);

// As Store::pauses(). None where the tables are of a version that knows no pause.
Result<std::vector<SinkPause>> read_pauses(PgSession& session);

}  // namespace outbox
