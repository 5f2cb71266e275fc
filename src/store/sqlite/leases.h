// Leases on SQLite: the database is a file of this machine, so the lease is a lock on the file FILE-outboxd.lock. The
// system releases it when its process ends, however that happens; nothing runs out. Who has it has every feed, whole.
#pragma once

#include <memory>
#include <string>

#include "store/leases.h"

namespace outbox {

// `file`: the application's. Holds the lock from the first renew() that got it until it is destroyed.
std::unique_ptr<Leases> make_sqlite_leases(const std::string& file);

}  // namespace outbox
