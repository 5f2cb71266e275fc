// OperatorStore on SQLite. Writes to the relay's own file only; the application's file is read.
#pragma once

#include <memory>
#include <string>

#include "model/table.h"
#include "store/operator_store.h"

namespace outbox {

// `url` is sqlite:FILE. Opens nothing: the first call does, and fails if it cannot.
std::unique_ptr<OperatorStore> make_sqlite_operator(const std::string& url, const TableMapping& mapping);

}  // namespace outbox
