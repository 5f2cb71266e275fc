// SIGTERM and SIGINT, taken synchronously by whoever waits for them, instead of by a handler.
#pragma once

#include <chrono>

namespace outbox::app {

// Blocks both for this thread and for all that it starts from now on, and ignores SIGPIPE. Call before any thread is
// made.
void block_signals();

// True if one of them came; blocks until then or until the time is over.
bool wait_for_signal(std::chrono::milliseconds longest);

}  // namespace outbox::app
