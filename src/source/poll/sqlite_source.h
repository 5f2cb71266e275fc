// The poll source on SQLite: reads by the integer primary key.
//
// SQLite has one writer at a time, so keys of an AUTOINCREMENT column appear in commit order and a cursor misses
// nothing: no row below it can show up later. A fetch while nothing was committed is one look at the WAL's index.
//
// It only reads, runs no checkpoint, and keeps no read transaction after fetch(), so that the application's own
// checkpoints get through. The file has to be there and in WAL mode.
//
// fetch() fails once another file stands under the name, or another message where the last one was read (the file was
// restored in place): the position belongs to the old one. Store::take_over finds where to go on in the new one, and
// open() reads it from there.
#pragma once

#include <memory>
#include <string>

#include "db/last_read.h"
#include "model/table.h"
#include "source/source.h"

namespace outbox {

// `url` is sqlite:FILE. Opens nothing yet. `last_read` is shared with the feed's store; null: there is none.
std::unique_ptr<Source> make_sqlite_source(const std::string& url, const TableMapping& mapping,
                                           std::shared_ptr<db::LastRead> last_read = nullptr);

}  // namespace outbox
