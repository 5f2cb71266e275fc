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

  // Where a sink that began with `from: now` began: what it passed over and never sent. Kept in outbox_meta until the
  // sink is forgotten or the application's file was replaced; 0: nothing is known to be passed over.
  Result<void> note_start(const std::string& sink, std::int64_t seq);
  Result<void> forget_start(const std::string& sink);
  Result<std::int64_t> start_of(const std::string& sink);

 private:
  db::Sqlite& state_;
  const std::string& prefix_;
};

}  // namespace outbox
