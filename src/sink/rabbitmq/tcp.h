// A TCP connection that can be given up while it is being made.
#pragma once

#include <chrono>
#include <string>

#include "base/result.h"

namespace outbox::rabbitmq {

// Tries the host's addresses in turn, for at most `patience` in all, or until `cancel` (a descriptor) is readable. The
// name lookup alone takes the time that the system gives it. The socket does not block, and belongs to the caller.
Result<int> connect_tcp(const std::string& host, int port, std::chrono::milliseconds patience, int cancel);

}  // namespace outbox::rabbitmq
