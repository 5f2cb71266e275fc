// Which dead letters `requeue` and `discard` were told to take, and what is to be said of the others.
#pragma once

#include "app/operator_desk.h"
#include "store/operator_store.h"

namespace outbox::app {

// In one transaction each, so that a process that is stopped leaves nothing half done and no lock for long.
inline constexpr std::size_t kStepRows = 100;

// Says on standard error which of the named messages has no dead letter, and why. False: for one of them that is no
// answer to what was asked. `on_its_way`: one that will be tried by itself is (requeue: yes, discard: no).
Result<bool> explain_ids(const OperatorDesk& desk, const DeliveryFilter& filter, bool on_its_way);

}  // namespace outbox::app
