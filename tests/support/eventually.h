// Waiting for something that another process does. A deadline ends a wait that has failed; it measures nothing.
#pragma once

#include <chrono>
#include <functional>

namespace outbox::test {

// Calls `predicate` until it returns true or `deadline` has passed; returns its last answer. Blocks the caller.
//
//   ASSERT_TRUE(eventually(30s, [&] { return topic.count() == 100; }));
bool eventually(std::chrono::milliseconds deadline, const std::function<bool()>& predicate);

}  // namespace outbox::test
