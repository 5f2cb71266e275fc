// Which dead letters `requeue` and `discard` were told to take, and what is to be said of the others.
#pragma once

#include <string>
#include <vector>

#include "store/operator_store.h"

namespace outbox::app {

// In one transaction each, so that a process that is stopped leaves nothing half done and no lock for long.
inline constexpr std::size_t kStepRows = 100;

// Says on standard error which of the named messages has no dead letter, and why. False: there was one for which that
// is no news that fits (unknown, delivered, discarded).
Result<bool> explain_ids(OperatorStore& store, const DeliveryFilter& filter);

}  // namespace outbox::app
