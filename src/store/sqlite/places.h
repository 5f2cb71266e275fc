// outbox_position in the relay's own file: where each sink stands, and who may move it.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "db/sqlite.h"
#include "model/position.h"

namespace outbox {

struct Place {
  std::uint64_t epoch = 0;
  Position position;
  std::optional<std::string> message_id;  // of the row at position.seq
};

class Places {
 public:
  Places(db::Sqlite& state, const std::string& prefix) : state_(state), prefix_(prefix) {}

  Result<std::optional<Place>> find(const std::string& sink);
  // Under the next epoch, with `relay` as its owner. Inside the caller's transaction.
  Result<void> take(const std::string& sink, const std::string& relay, const Place& place, Time now);
  // False: the epoch has moved on, and nothing was written.
  Result<bool> move(const std::string& sink, std::uint64_t epoch, const Position& position,
                    const std::optional<std::string>& message_id, Time now);
  Result<bool> owns(const std::string& sink, std::uint64_t epoch);

 private:
  db::Sqlite& state_;
  const std::string& prefix_;
};

}  // namespace outbox
