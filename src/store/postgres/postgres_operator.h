// OperatorStore on PostgreSQL.
#pragma once

#include <memory>
#include <string>

#include "model/table.h"
#include "store/operator_store.h"

namespace outbox {

// `table`: resolved, as for make_postgres_store(). Does not connect: the first call does.
std::unique_ptr<OperatorStore> make_postgres_operator(const std::string& url, const TableMapping& table);

}  // namespace outbox
