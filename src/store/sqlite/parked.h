// The parked deliveries of outbox_delivery in the relay's own file. Called inside the caller's transaction where they
// write; times are the database's, given by the caller.
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "db/sqlite.h"
#include "store/store.h"

namespace outbox {

class ParkedTable {
 public:
  ParkedTable(db::Sqlite& state, const std::string& prefix) : state_(state), prefix_(prefix) {}

  Result<void> write(const std::string& sink, const std::vector<Park>& parks, const std::vector<ParkedUpdate>& updates,
                     Time now);

  // What was parked for its not_before and is due now takes its turn by ord like everybody else. In a transaction of
  // its own.
  Result<void> release_due(const std::string& sink, Time now);
  Result<std::vector<ParkedRun>> due(const std::string& sink, std::size_t max_keys, std::size_t run_max,
                                     const std::vector<std::string>& except, Time now);
  Result<Store::Parking> parking(const std::string& sink, Time now);
  Result<PageFacts> facts(const std::string& sink, const std::vector<std::string>& keys,
                          const std::vector<std::string>& message_ids, Time now);

  // Dead letters that died before `died_before` go, and no longer hold their keys; not those whose message is still to
  // be passed by the position, which a re-read would send. Returns how many.
  Result<std::int64_t> drop_dead(const std::string& sink, Time died_before, std::int64_t max_rows);

  // After rows of the key were changed: the first of it has the turn.
  Result<void> pass_turn(const std::string& sink, const std::string& key);
  // Null: there is no such row, or it keeps no body any more.
  Result<RecordPtr> record_of(std::int64_t row);

 private:
  using Touched = std::set<std::pair<std::string, std::string>>;  // sink, key

  Result<void> park(const Park& park, Time now, Touched& touched);
  Result<void> update(const ParkedUpdate& update, Time now, Touched& touched);
  Result<void> keys_of(const std::string& statement, db::SqliteValues values, std::vector<std::string>& keys);
  Result<ParkedRun> run_of(const std::string& sink, const std::string& key, std::size_t run_max, Time now);
  std::string sql(std::string_view text) const;

  db::Sqlite& state_;
  const std::string& prefix_;
};

}  // namespace outbox
