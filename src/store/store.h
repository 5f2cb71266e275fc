// Store: what the relay and the operator ask of the database about the relay's own state: positions, parked
// deliveries, heartbeats, retention. All SQL on our side tables has its home in the implementations.
//
// On PostgreSQL the state lives beside the outbox table; on SQLite in a file of its own (FILE-outboxd), because a write
// of ours between an application's read and its write would fail the application's transaction.
//
// Thread: one at a time; every call may block for a database round trip. A store reconnects by itself: a call on a
// broken connection fails `unavailable`, the next one tries anew. No call keeps a transaction open after it returns.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/text.h"
#include "model/delivery.h"
#include "model/lanes.h"
#include "model/position.h"

namespace outbox {

// The sinks that are fed by one source, and who feeds them.
struct Feed {
  std::string name;                // the sink's name in position mode; "*" where the sinks share marks
  std::vector<std::string> sinks;  // one in position mode
  bool positions = true;           // false: rows are marked or deleted
  bool from_beginning = true;      // where a sink without a stored position starts
  Lanes lanes{};                   // the share of the keys; position mode on PostgreSQL only, else all
};

struct FeedState {
  Position start;           // where to read on; position mode only
  std::uint64_t epoch = 0;  // the fencing token that settle is checked against
  Time database_now{};
};

struct PageFacts {
  std::vector<std::string> waiting_keys;  // of those asked: keys with waiting (or holding dead) deliveries at the sink
  std::vector<std::string> known_messages;  // of those asked: message ids that have a row at the sink, in any state
};

struct ParkedCounts {
  std::int64_t waiting = 0;
  std::int64_t dead = 0;
  std::int64_t uncharged = 0;    // of the waiting: parked for want of a destination
  std::int64_t not_due = 0;      // of the waiting: Park::not_due, with next_attempt still to come
  bool concerns_stream = false;  // false: no row can concern a record still to be read, so page_facts may be skipped
};

// Somebody wants the relays to leave a sink alone (`outboxd pause`).
struct SinkPause {
  std::string sink;
  std::string actor;
  std::string reason;
  Time since{};
};
// "paused by ana@desk since 2026-01-31T09:30:00Z: their maintenance"
inline std::string to_text(const SinkPause& pause) {
  return "paused by " + pause.actor + " since " + to_rfc3339(pause.since).substr(0, 19) + "Z" +
         (pause.reason.empty() ? "" : ": " + pause.reason);
}

struct SinkStatus {
  ParkedCounts parked;
  std::optional<Time> oldest_waiting;                 // created_at of the oldest waiting delivery
  std::string last_error;                             // of the most recently failed parked delivery
  std::optional<Time> last_error_at;                  // when that was; empty without last_error
  std::map<std::string, std::int64_t> dead_by_owner;  // the owner is the route's label; "" where it has none
  std::optional<SinkPause> pause;
};

struct RelayStatus {
  std::string name;
  Time started_at{};
  Time seen_at{};
  bool stopped = false;
  std::string sinks_json;  // what that relay said of its sinks: breaker, in flight, rate, last error
};

// Who has a share of a feed's lanes (store/leases.h).
struct ShareStatus {
  std::string feed;
  Lanes lanes;
  std::string relay;          // that took it over last
  std::optional<Time> until;  // when its lease runs out, or ran out; empty: it has none, or (SQLite) needs none
};

struct StoreStatus {
  Time database_now{};
  std::int64_t unsent = 0;            // rows of the outbox table that the feed furthest behind has not settled
  bool unsent_is_capped = false;      // counting stopped at a bound; `unsent` is a lower bound
  std::optional<Time> oldest_unsent;  // created_at
  std::map<std::string, SinkStatus> sinks;
  std::vector<ShareStatus> shares;  // of every feed that has a position, by feed and lane
  bool has_leases = true;           // false: this database needs none (SQLite)
  std::vector<RelayStatus> relays;
};

struct Heartbeat {
  std::string relay;
  std::string sinks_json;
  bool stopping = false;
};

class Store {
 public:
  virtual ~Store() = default;

  // Takes the feed's share over: raises the epoch, so that every settle of an older owner fails `fenced` from now on,
  // and returns where to start. Stores a position for a sink that has none. Detects a database restored elsewhere
  // (system identifier) and re-bases. Where the database keeps leases (store/leases.h), `fenced` unless `relay` has a
  // valid one on the feed, while the share's owner, whom the failure names, has one, and where it was cut meanwhile.
  virtual Result<FeedState> take_over(const Feed& feed, const std::string& relay) = 0;

  // Writes the batch in one transaction, checked against the epoch: `fenced` if another relay has taken over, and then
  // nothing was written. `unavailable`: the connection was lost, and whether it was written is unknown; in position
  // mode the caller then takes over again and starts from the stored position, otherwise it repeats the batch
  // unchanged. `invalid`: the database refuses something in the batch (a value, a trigger that raises):
  // nothing was written, and the caller finds out what by trying parts of it. Any other failure (a full disk, a busy
  // SQLite file): nothing was written, the batch is repeated.
  virtual Result<void> settle(const Feed& feed, std::uint64_t epoch, const SettleBatch& batch) = 0;

  // Up to `max_keys` keys of the sink, within the lanes, whose first waiting delivery is due by the database's clock,
  // each with up to `run_max` deliveries in ord that may be tried now. A delivery that is not due yet for its
  // not_before only (Park::not_due) is passed over: it blocks nobody. A dead one that holds its key blocks it. Keys in
  // `except` are left out (they are in the window).
  virtual Result<std::vector<ParkedRun>> due(const std::string& sink, const Lanes& lanes, std::size_t max_keys,
                                             std::size_t run_max, const std::vector<std::string>& except) = 0;

  // When the next waiting delivery of the sink, within the lanes, becomes due (kNever: none waits), and how many are
  // parked.
  struct Parking {
    ParkedCounts counts;
    Time next_due = kNever;
  };
  virtual Result<Parking> parking(const std::string& sink, const Lanes& lanes) = 0;

  virtual Result<PageFacts> page_facts(const std::string& sink, const std::vector<std::string>& keys,
                                       const std::vector<std::string>& message_ids) = 0;

  // Operations, none of them on the hot path.
  virtual Result<void> heartbeat(const Heartbeat& beat) = 0;
  virtual Result<StoreStatus> status(const std::vector<Feed>& feeds) = 0;
  // The sinks that are paused now. A relay asks with every heartbeat; what is paused publishes nothing and keeps its
  // position, attempts and breaker.
  virtual Result<std::vector<SinkPause>> pauses() = 0;
  // Deletes at most `max_rows` sent rows older than `retain` behind every position, finished tombstones and dead
  // letters older than `retain_dead`; returns how many rows went (0: nothing left to do). `dry_run` only counts. Dead
  // letters do not go in silence: for each sink that lost some, one line of the log and one row of outbox_audit
  // (discarded, without a message) say how many.
  struct Retention {
    std::optional<Duration> sent;
    std::optional<Duration> dead;
    std::string actor = {};  // who applies it: a relay's name, or user@host
  };
  virtual Result<std::int64_t> prune(const std::vector<Feed>& feeds, const Retention& retention, std::int64_t max_rows,
                                     bool dry_run) = 0;
};

}  // namespace outbox
