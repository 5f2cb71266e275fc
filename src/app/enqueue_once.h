// One message into the database, in a transaction of its own: `outboxd send`. Uses the public library as an
// application does.
#pragma once

#include <string>

#include "base/result.h"
#include "outbox/enqueue.h"
#include "outbox/message.h"

namespace outbox::app {

// Blocks for connecting, INSERT and COMMIT. If the COMMIT's answer was lost the failure says so and names the id: the
// same call with that id is safe.
Result<Enqueued> enqueue_once(const std::string& database_url, const std::string& table, const Message& message);

}  // namespace outbox::app
