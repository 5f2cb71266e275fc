// ForwardingStore: dead letters whose copies are still to be sent to the sink that `dead_letters.forward` names
// (relay/forwarding_core.h). The dead letter itself stays as it is; what is remembered with it is which of its deaths
// was forwarded, so that a restart sends what was not sent, and what is sent again and dies again is forwarded again.
//
// One relay forwards at a time: it holds the one share of kForwardingFeed (store/leases.h). A dead letter that was
// requeued or discarded before its copy was sent is not forwarded.
//
// Thread: one at a time; each call blocks for a round trip or two and reconnects by itself.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "model/record.h"

namespace outbox {

// No sink can have this name.
inline constexpr const char* kForwardingFeed = "*dead_letters";

// A place in the order of death. The deaths of one key stand in the key's order.
struct DeathPlace {
  Time died_at{};  // by the database's clock
  std::int64_t ord = 0;
  std::int64_t row = 0;  // primary key in outbox_delivery
};

struct DeadLetter {
  DeathPlace place;
  RecordPtr record;
  std::string sink;  // that did not get it
  std::string owner;
  std::string reason;
  std::string error;
  int attempts = 0;
};

// The copy of one death is done with.
struct Forwarded {
  std::int64_t row = 0;
  Time died_at{};
  std::string refusal;  // why the sink will never take it; empty: it took it
};

class ForwardingStore {
 public:
  virtual ~ForwardingStore() = default;

  // Raises the epoch, which mark() is checked against, and returns it. `fenced` as Store::take_over() is, by the leases
  // on kForwardingFeed; `invalid` where the tables are of a version without forwarding.
  virtual Result<std::uint64_t> take_over(const std::string& relay) = 0;

  // The next ones behind `after` that are not forwarded yet, at most `max_rows`, and no more once their bodies are
  // beyond `max_bytes`. Empty: there are none. A death that was committed late may stand before `after`: begin anew.
  virtual Result<std::vector<DeadLetter>> next(const DeathPlace& after, std::size_t max_rows,
                                               std::size_t max_bytes) = 0;

  // Remembers them, in one transaction; what is no longer dead, or has died again since, is left alone. `fenced`:
  // another relay has taken over, and nothing was written.
  virtual Result<void> mark(std::uint64_t epoch, const std::vector<Forwarded>& forwarded) = 0;

  // How many are not forwarded yet; counting stops at 10,000.
  virtual Result<std::int64_t> left() = 0;
};

inline constexpr std::int64_t kForwardingCountMax = 10'000;

}  // namespace outbox
