// Dead letters in the relay's own file: listed, sent again, with another payload, or discarded. Times are given by the
// caller.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "db/sqlite.h"
#include "store/operator_store.h"

namespace outbox {

class DeadLetterTable {
 public:
  DeadLetterTable(db::Sqlite& state, const std::string& prefix) : state_(state), prefix_(prefix) {}

  // An empty `state`: any.
  Result<std::vector<DeliveryInfo>> list(const std::string& state, const DeliveryFilter& filter, std::size_t limit);

  // As the functions of OperatorStore; each is a transaction of its own.
  Result<WalkStep> count(const DeadLetterWalk& walk, int replays_max);
  Result<WalkStep> requeue(DeadLetterWalk& walk, int replays_max, std::size_t max_rows, const Act& act, Time now);
  Result<WalkStep> discard(DeadLetterWalk& walk, std::size_t max_rows, const Act& act, Time now);
  Result<bool> replace(std::int64_t row, const std::string& new_id, const std::string& payload, int replays_max,
                       const Act& act, Time now);

 private:
  struct Row {
    std::int64_t row = 0;
    std::string sink;
    std::int64_t ord = 0;
    std::string key;
    std::string message_id;
    int replays = 0;
    std::string died_of;
  };
  Result<std::vector<Row>> next_rows(const DeadLetterWalk& walk, std::size_t max_rows);
  Result<WalkStep> step(DeadLetterWalk& walk, std::optional<int> replays_max, std::size_t max_rows, const Act& act,
                        Time now);
  Result<void> make_waiting(const Row& row, Time now);
  Result<void> make_discarded(const Row& row, const std::string& reason, Time now);
  Result<void> insert_successor(const Row& row, const std::string& new_id, const std::string& payload, Time now);
  Result<void> write_audit(const Row& row, const std::string& action, const Act& act, const std::string& detail,
                           Time now);
  Result<void> write_audit_of_replacement(const Row& dead, const std::string& new_id, const Act& act, Time now);
  std::string sql(std::string_view text) const;

  db::Sqlite& state_;
  const std::string& prefix_;
};

}  // namespace outbox
