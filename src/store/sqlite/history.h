// What stood where: samples of (seq, message id) per sink, taken as its position moves on. They tell a restored or
// replaced application file from the one that the position was written for, and since when rows count as sent.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "db/sqlite.h"
#include "db/sqlite_table.h"
#include "model/position.h"

namespace outbox {

class History {
 public:
  History(db::Sqlite& state, const std::string& prefix) : state_(state), prefix_(prefix) {}

  // Notes the place, unless the last sample is close in rows and in time. Inside the caller's transaction.
  Result<void> note(const std::string& sink, std::int64_t seq, const std::string& message_id, Time now);

  // Where a sink has to resume that stood at `seq`, on the message `id`: there if the application's file agrees, else
  // at the newest sample that agrees, else at the beginning. Forgets the samples behind that place.
  Result<std::int64_t> resume(db::Sqlite& application, const db::SqliteTable& table, const std::string& sink,
                              std::int64_t seq, const std::optional<std::string>& id);

  // Rows up to here were passed by the sink before `time`.
  Result<std::int64_t> passed_before(const std::string& sink, Time time);

 private:
  db::Sqlite& state_;
  const std::string& prefix_;
};

}  // namespace outbox
