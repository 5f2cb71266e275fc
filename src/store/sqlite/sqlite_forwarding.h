#pragma once

#include <memory>
#include <string>

#include "model/table.h"
#include "store/forwarding_store.h"

namespace outbox {

// Opens the relay's own file at the first call.
std::unique_ptr<ForwardingStore> make_sqlite_forwarding(const std::string& url, const TableMapping& mapping);

}  // namespace outbox
