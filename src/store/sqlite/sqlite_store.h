// The store on SQLite: everything the relay remembers lives in FILE-outboxd, made when it is missing (sql/sqlite).
//
// The application's file is only read, with one exception: prune() deletes sent rows in short write transactions. Even
// those can fail an application that reads and then writes in one deferred transaction (SQLITE_BUSY_SNAPSHOT, whatever
// its busy time-out), so retention is the caller's choice.
//
// Only feeds with positions: sent: mark and delete would write into the application's file per message.
//
// A restored or replaced application file is noticed at take_over by the message that stands at the position, or by
// numbers that went back; the position then returns to the last place where both agree, with duplicates and no loss.
// settle() moves no position in a file that is not the one any more: it fails `unavailable`, for a take_over.
#pragma once

#include <memory>
#include <string>

#include "db/last_read.h"
#include "model/table.h"
#include "store/store.h"

namespace outbox {

// `url` is sqlite:FILE. Opens nothing: the first call does, and fails if it cannot. `last_read` is the one of the
// feed's source; null: nothing is read beside this store.
std::unique_ptr<Store> make_sqlite_store(const std::string& url, const TableMapping& mapping,
                                         std::shared_ptr<db::LastRead> last_read = nullptr);

}  // namespace outbox
