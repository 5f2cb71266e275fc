// Leases on PostgreSQL: outbox_lease, and the shares in outbox_position.
#pragma once

#include <memory>
#include <string>

#include "model/table.h"
#include "store/leases.h"

namespace outbox {

// As make_postgres_store().
std::unique_ptr<Leases> make_postgres_leases(const std::string& url, const TableMapping& table);

}  // namespace outbox
