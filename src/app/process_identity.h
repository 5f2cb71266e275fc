// Which process a relay is, so that another on the same machine can tell at once that it is gone, and need not wait
// until its lease has run out.
#pragma once

#include <string>
#include <string_view>

namespace outbox::app {

// BOOT/PID_NAMESPACE/PID/START: no two processes ever have the same.
std::string process_identity();

// True if the process was one of this boot and pid namespace, and does not run any more (a zombie does not run). False
// also where that cannot be known from here: another machine, another container.
bool process_is_gone(std::string_view identity);

// HOST:PID:TAG, for people; the tag tells a process from a namesake in another container.
std::string relay_name();

}  // namespace outbox::app
