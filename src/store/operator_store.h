// OperatorStore: what the person on call asks of the database and does to it: lists, the life of one message, sending
// dead letters again, discarding them, pausing and forgetting sinks.
//
// It works beside running relays, which learn of it from the tables: what is requeued is due at once, and a relay asks
// for what is due at least every second. Every call that changes something is one transaction, with a row of
// outbox_audit per delivery in it: a process that dies between two calls has lost nothing and may be run again.
//
// Thread: one at a time; every call blocks for a few database round trips. A list with a key or a type may have to read
// the whole outbox table.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/delivery.h"
#include "store/store.h"

namespace outbox {

// Which deliveries are meant: those that fit all that is given.
struct DeliveryFilter {
  std::vector<std::string> message_ids;
  std::string sink;
  std::string key;  // aggregate type, ':', aggregate id
  std::string type;
  std::string owner;   // of what is parked
  std::string reason;  // of what is parked
  // Created then or later; for what is parked: last changed then or later, so for a dead letter when it died.
  std::optional<Time> since;
};

// Which messages a sink gets, so that a list of its messages leaves out the others.
struct RouteFilter {
  std::string sink;
  std::optional<std::string> aggregate_type;
  std::optional<std::string> type;
};

enum class ListedState {
  pending,  // in the outbox table, and its sink's position (or the row's mark) has not passed it
  waiting,  // parked: another try, or its turn, is to come
  dead,
  sent,  // in the outbox table, and passed; not what was discarded or replaced, or was there before its sink began
};

struct DeliveryInfo {
  // pending, waiting, dead, sent, done, discarded; of one message also skipped (it was there before its sink began with
  // `from: now`) and finished (it was sent again once, and its parked delivery is not kept any more).
  std::string state;
  std::string message_id;
  std::string sink;
  std::string aggregate_type;
  std::string aggregate_id;
  std::string type;
  Time created_at{};

  // Of what is parked.
  std::int64_t row = 0;
  int attempts = 0;
  int replays = 0;
  bool holds_key = false;
  std::optional<Time> next_attempt;
  std::string reason;
  std::string error;
  std::string owner;
  Time parked_at{};
  Time changed_at{};

  std::optional<Time> passed_at;  // sent: when the row was marked, where rows are

  // Of one message, from the audit.
  std::string closed_by;      // discarded: the actor
  std::string closed_reason;  // discarded: what the actor gave as the reason
  std::string replaced_by;    // discarded: the id of the corrected message that took its place
  std::string replaces;       // the id of the message whose place it took
};

struct AuditEntry {
  Time at{};
  std::string actor;
  std::string action;  // requeued, replaced, discarded, paused, resumed, forgotten
  std::string sink;
  std::string message_id;
  std::string reason;
  std::string detail;
};

// All that is known of one message.
struct MessageLife {
  RecordPtr record;       // from the outbox table, else from a parked delivery with its body; null: neither
  bool in_table = false;  // the outbox table still has it
  // One per sink that has passed it, has not, has parked it, or had it discarded or sent again (as the audit says).
  std::vector<DeliveryInfo> deliveries;
  std::vector<AuditEntry> audit;  // oldest first
};

// Who does it, and why; stands in outbox_audit.
struct Act {
  std::string actor;
  std::string reason;
};

// How the audit says what a delivery had died of.
inline std::string died_of(const std::string& reason, int attempts, const std::string& error) {
  return "died of " + reason + " after " + std::to_string(attempts) + (attempts == 1 ? " attempt" : " attempts") +
         (error.empty() ? "" : ": " + error);
}

// A walk through dead letters, in the order of their sinks and of their places there. Begun by begin_walk(); each step
// is a transaction. What dies again behind it is not met twice.
struct DeadLetterWalk {
  DeliveryFilter filter;
  Time until{};      // what died later is left alone
  std::string sink;  // the last one that was met
  std::int64_t ord = 0;
  std::int64_t row = 0;
};

struct WalkStep {
  std::int64_t changed = 0;
  std::int64_t refused = 0;  // replayed as often as is allowed
  bool end = false;          // nothing is left
};

// What a sink has in our tables.
struct SinkHoldings {
  // Rows of the outbox table that its position has not passed, whether its routes named them or not.
  std::int64_t unsent = 0;
  bool unsent_is_capped = false;  // counting stopped at a bound; there may be more
  bool position = false;
  bool paused = false;
  std::int64_t waiting = 0;
  std::int64_t dead = 0;
  std::int64_t finished = 0;  // tombstones
};

// " (5 rows not passed)"; nothing where there are none.
inline std::string not_passed(std::int64_t rows, bool capped) {
  if (rows == 0) return {};
  return " (" + std::to_string(rows) + (capped ? " or more rows" : rows == 1 ? " row" : " rows") + " not passed)";
}

class OperatorStore {
 public:
  virtual ~OperatorStore() = default;

  // The database's clock.
  virtual Result<Time> now() = 0;

  // At most `limit`: waiting and dead ones in the order of their places, pending ones oldest first, sent ones newest
  // first. `routes` matters for pending and sent. `invalid` where sent rows are deleted, and sent ones are asked for.
  virtual Result<std::vector<DeliveryInfo>> list(ListedState state, const DeliveryFilter& filter,
                                                 const std::vector<RouteFilter>& routes, std::size_t limit) = 0;
  // Parked deliveries of these messages, in any state.
  virtual Result<std::vector<DeliveryInfo>> find(const std::vector<std::string>& message_ids,
                                                 const std::string& sink) = 0;
  virtual Result<MessageLife> life(const std::string& message_id, const std::vector<RouteFilter>& routes) = 0;
  // The message as the sink would get it from its parked delivery; null: that row keeps no body (any more).
  virtual Result<RecordPtr> parked_record(std::int64_t row) = 0;

  virtual Result<DeadLetterWalk> begin_walk(const DeliveryFilter& filter) = 0;
  // How many the walk would change and refuse. Touches nothing.
  virtual Result<WalkStep> count(const DeadLetterWalk& walk, int replays_max) = 0;
  // Dead → waiting, due now, all attempts before it, its place kept: it goes out behind what waits before it in its key
  // and before what waits behind it. One that was replayed `replays_max` times stays dead.
  virtual Result<WalkStep> requeue(DeadLetterWalk& walk, int replays_max, std::size_t max_rows, const Act& act) = 0;
  // Dead → discarded, for good; a key that it held goes on.
  virtual Result<WalkStep> discard(DeadLetterWalk& walk, std::size_t max_rows, const Act& act) = 0;

  // A dead letter is sent with another payload. With a `new_id` a new delivery takes its place, with the header
  // `replaces: OLD ID`, and the old one is discarded as replaced, and the audit has a row for each of them; with an
  // empty one it keeps its id. False: the row is not dead (any more), or has been replayed `replays_max` times under
  // its own id.
  virtual Result<bool> replace(std::int64_t row, const std::string& new_id, const std::string& payload, int replays_max,
                               const Act& act) = 0;

  // False: it was (not) paused already, and nothing was changed.
  virtual Result<bool> pause(const std::string& sink, const Act& act) = 0;
  virtual Result<bool> resume(const std::string& sink, const Act& act) = 0;

  virtual Result<SinkHoldings> holdings(const std::string& sink) = 0;
  // Deletes parked deliveries of the sink, at most `max_rows`, and once there are none its position and pause. True:
  // nothing is left.
  virtual Result<bool> forget(const std::string& sink, std::size_t max_rows, const Act& act) = 0;
};

}  // namespace outbox
