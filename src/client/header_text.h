#pragma once

#include <string>

#include "outbox/message.h"

namespace outbox::client {

// The headers column: a JSON object of strings, in the order given; a name that appears several times has an array of
// strings, where it appeared first. Names and values are UTF-8 without a NUL.
std::string header_text(const Headers& headers);

}  // namespace outbox::client
