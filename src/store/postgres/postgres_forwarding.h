#pragma once

#include <memory>
#include <string>

#include "model/table.h"
#include "store/forwarding_store.h"

namespace outbox {

// Connects at the first call.
std::unique_ptr<ForwardingStore> make_postgres_forwarding(const std::string& url, const TableMapping& table);

}  // namespace outbox
