// The headers of a message as they go over the wire. Pure functions.
#pragma once

#include "base/result.h"
#include "model/headers.h"
#include "model/record.h"

namespace outbox::nats {

// Nats-Msg-Id, by which a stream drops repeats, then what every sink sends. `invalid` if a name is no token (RFC 9110,
// 5.6.2), a row sets a reserved name (Nats-Rollup would purge a stream), or a value holds CR, LF or NUL: the client
// would send it as another header or cut it.
Result<HeaderList> message_headers(const Record& record);

}  // namespace outbox::nats
