// A delivery is one message to one sink. While all goes well it lives in the relay's window only; what fails or must
// wait is parked: stored in the side table outbox_delivery, with its body, so that it leaves the stream.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/position.h"
#include "model/record.h"

namespace outbox {

// The life of a delivery. `claimed` and `in_flight` are states of the relay's memory; `waiting` and `dead` are stored
// in outbox_delivery, and so is `settled` for what was parked: its row stays for a while, as `done` or `discarded`.
enum class DeliveryState {
  claimed,    // read, not handed to the sink yet
  in_flight,  // handed to the sink, no outcome yet
  waiting,    // parked: another try, or a turn behind an earlier message of its key, is due
  dead,       // parked for good, until somebody requeues or discards it
  settled,    // delivered, or discarded
};

// What may become of a delivery, in memory and in outbox_delivery together (docs/ARCHITECTURE.md draws it). For the
// reader, mostly: `because` is shown nowhere, and only the step to in_flight is asserted against it
// (relay/outbound.cc). In memory a delivery that has come back is `claimed` until it is gone; the other states are its
// row's.
struct Transition {
  DeliveryState from;
  DeliveryState to;
  std::string_view because;
};
inline constexpr std::array kTransitions{
    Transition{DeliveryState::claimed, DeliveryState::in_flight, "published"},
    Transition{DeliveryState::claimed, DeliveryState::waiting,
               "not due yet, its key waits, its destination or sink takes nothing, or it held up the rest"},
    Transition{DeliveryState::claimed, DeliveryState::dead,
               "no route, no address, too large, or its key is too long to wait with"},
    Transition{DeliveryState::claimed, DeliveryState::settled, "routed to no sink"},
    Transition{DeliveryState::in_flight, DeliveryState::settled, "confirmed"},
    Transition{DeliveryState::in_flight, DeliveryState::claimed, "uncharged: destination, sink or client failed"},
    Transition{DeliveryState::in_flight, DeliveryState::waiting, "charged: the message failed, attempts are left"},
    Transition{DeliveryState::in_flight, DeliveryState::dead, "rejected, or attempts used up"},
    Transition{DeliveryState::waiting, DeliveryState::claimed, "due, and first of its key"},
    Transition{DeliveryState::waiting, DeliveryState::dead, "due, and no route leads to its sink any more"},
    Transition{DeliveryState::dead, DeliveryState::waiting, "requeued by hand"},
    Transition{DeliveryState::dead, DeliveryState::settled, "discarded by hand"},
};
bool allowed(DeliveryState from, DeliveryState to);
std::string_view to_string(DeliveryState state);

// A row to insert into outbox_delivery. (message id, sink) is unique; inserting it again changes nothing.
// `ord`, the order among the parked rows of a sink, is given by the store in the order of the batch.
struct Park {
  RecordPtr record;
  std::string sink;
  DeliveryState state = DeliveryState::waiting;  // waiting or dead
  int attempts = 0;                              // charged ones
  Time next_attempt{};                           // for waiting: not tried before (database clock)
  bool charged = false;    // false: parked for want of a destination, which is what the cap counts, or not due
  bool not_due = false;    // waiting for its not_before only: until then it neither blocks nor heads its key
  bool holds_key = false;  // dead with dead_letters.key: hold
  std::string reason;      // outcome reason, or the relay's own: "not_due", "behind_key", "sink_down", "no_route", …
  std::string error;       // Outcome::detail
  std::string owner;       // the route's label
};

// A parked delivery that is due, or stands in ord right behind one that is.
struct Parked {
  std::int64_t row = 0;  // primary key in outbox_delivery
  RecordPtr record;
  int attempts = 0;
  int replays = 0;
  Time failing_since{};  // when it first failed by its own fault; says nothing while attempts is 0
};

// The parked deliveries of one key that may be tried now, in ord. `more`: others wait behind them in the table.
struct ParkedRun {
  std::string key;
  std::vector<Parked> deliveries;
  bool more = false;
};

// A parked delivery was tried again: what became of it.
struct ParkedUpdate {
  enum class Kind {
    done,     // delivered; the row stays as a tombstone until the position has passed its message
    waiting,  // failed again: attempts, next_attempt, reason, error
    dead,     // attempts used up, or rejected
  };
  std::int64_t row = 0;
  Kind kind = Kind::done;
  int attempts = 0;
  Time next_attempt{};
  bool holds_key = false;
  std::string reason;
  std::string error;
  int replays =
      0;  // Parked::replays, as it was tried: once somebody has requeued it this update has no effect any more
};

// All that one settle writes, in one transaction. Writing it twice has the effect of writing it once.
struct SettleBatch {
  std::vector<Park> parks;  // in the order in which they are to get their ord
  std::vector<ParkedUpdate> updates;
  std::optional<Position> position;  // position mode: the new position of the feed's sink
  std::vector<RecordPtr> settled;    // mark and delete mode: rows to mark or delete (parked ones included)

  bool empty() const { return parks.empty() && updates.empty() && !position && settled.empty(); }
};

}  // namespace outbox
