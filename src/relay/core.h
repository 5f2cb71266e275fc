// Core: decides everything about one feed and does nothing else. Events go in, commands come out; there is no thread,
// socket, clock or SQL here, so the simulator (tests/simulation) drives this very code through crashes, lost
// confirmations and late commits, and a failing seed replays exactly.
//
// The runner (relay/runner.h) carries the commands out and reports what came of them. At most one question to the store
// (settle, facts or due) is outstanding at a time, and one fetch beside it; the next is asked for only after the answer
// (docs/adr/0003). Commands are taken with take() after every event, which says what time it is (relay/clock.h).
//
// A record's way: fetched → (routed) → queued behind its key → published → outcome → settled or parked → settle. The
// position moves over the settled prefix; the states and what may follow what stand in model/delivery.h.
//
// Thread: none of its own; one caller at a time.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/delivery.h"
#include "model/outcome.h"
#include "relay/budget.h"
#include "relay/clock.h"
#include "relay/policy.h"
#include "sink/sink.h"
#include "source/source.h"
#include "store/store.h"

namespace outbox {

struct CoreSink {
  std::string name;
  Capabilities capabilities;
  RetryPolicy retry;
  BreakerPolicy breaker;
  std::size_t parked_max = 100'000;  // cap on what is parked for want of a destination; at it reading stops
  RetryBudgetPolicy budget{};        // of this share of the sink
};

struct CoreOptions {
  Feed feed;
  std::vector<CoreSink> sinks;  // as in feed.sinks, same order
  bool source_repeats = false;  // Source::repeats()
  bool takes_unrouted = true;   // this feed dead-letters what no route matches: one feed of a table does
  std::size_t page_records = 1000;
  std::size_t page_bytes = 4u << 20;
  std::size_t window_records = 4000;  // read and not yet settled
  std::size_t window_bytes = 16u << 20;
  std::size_t ahead_max = 2000;  // settled past the prefix; at it the message that holds the prefix is parked
  Duration poll_busy{5ms};       // after a page with records
  Duration poll_idle{200ms};     // reached by doubling while pages are empty
  Duration settle_every{20ms};   // a settle that only moves the position waits this long for company
};

// What is to be done now. Empty members: nothing of that kind.
struct Commands {
  struct Publish {
    std::size_t sink = 0;  // index into CoreOptions::sinks
    std::vector<Publication> batch;
  };
  struct Fetch {
    std::size_t max_records = 0;
    std::size_t max_bytes = 0;
  };
  struct Facts {
    std::size_t sink = 0;
    std::vector<std::string> keys;
    std::vector<std::string> message_ids;
  };
  struct Due {
    std::size_t sink = 0;
    std::size_t max_keys = 0;
    std::size_t run_max = 0;
    std::vector<std::string> except;
  };
  struct Confirmed {
    std::size_t sink = 0;
    Duration since_created{};
    Duration since_published{};
  };
  struct Died {
    std::size_t sink = 0;
    RecordPtr record;
    std::string reason;
    std::string error;
    int attempts = 0;
    std::string owner;
    std::int64_t row = 0;  // of a delivery that was parked before; else 0
  };
  struct DestinationTurn {  // for the log: not each turn is one (relay/notice.h)
    std::size_t sink = 0;
    std::string destination;  // empty where its name may hold a secret
    std::string failure;      // empty: it is well again
  };
  struct Refused {     // see Core::refusal()
    std::string what;  // "message 17 of key order:4: parking it"
    std::string error;
  };
  std::vector<Publish> publish;
  std::optional<Fetch> fetch;
  std::optional<SettleBatch> settle;
  std::optional<Facts> facts;
  std::optional<Due> due;            // answered by Store::due, then Store::parking
  std::vector<std::size_t> reopen;   // sinks whose client is dead
  bool restart = false;              // Store::take_over, Source::open, then started()
  std::vector<Confirmed> confirmed;  // for metrics
  std::vector<Died> died;            // dead letters that are stored now, for metrics and the log
  std::vector<DestinationTurn> destination_turns;
  std::vector<Refused> refused;       // what the database would not store, each time it was tried
  bool finished = false;              // after stop(), drain() or fencing: nothing is left to do
  SteadyTime wake_at = kNeverSteady;  // call tick() then at the latest
};

// What the console, metrics and health read.
struct SinkView {
  std::string name;
  BreakerState breaker = BreakerState::closed;
  std::string breaker_reason;           // last failure that counted against it
  std::size_t held_destinations = 0;    // that get nothing but a probe, where the sink has several
  std::string held_destination_reason;  // why one of them is
  std::size_t in_flight = 0;
  std::size_t queued = 0;
  ParkedCounts parked;
  std::uint64_t delivered = 0;
  std::uint64_t retried = 0;  // charged failures
  std::uint64_t died = 0;
  std::string last_error;
  Time last_delivery{};
  bool at_cap = false;       // parked_max is reached: nothing is read
  std::string held_because;  // "" or why nothing is read or published, or why the position stands (refusal())
};

class Core {
 public:
  Core(CoreOptions options, std::shared_ptr<const Router> router, std::uint64_t seed);
  ~Core();
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;

  // First event of a life, and again after a take-over that followed an error: everything in memory starts over.
  void started(const FeedState& state, const Now& now);

  void fetched(Result<Page> page, const Now& now);
  void facts(Result<PageFacts> facts, const Now& now);
  void due(Result<std::vector<ParkedRun>> runs, const Result<Store::Parking>& parking, const Now& now);
  void settled(const Result<void>& result, const Now& now);
  void completed(std::size_t sink, const std::vector<Completion>& completions, const Now& now);
  void reopened(std::size_t sink, const Result<void>& result, const Now& now);
  void tick(const Now& now);
  // The lease on the share has run out: nothing more is handed to a sink, and what the clients hold is taken back from
  // them (reopen). With leased() the feed is taken over anew, if it is still to be had.
  void lapsed(const Now& now);
  void leased(const Now& now);
  // Publishes nothing to the sink until it is resumed; its position, attempts and breakers stand.
  void pause(std::size_t sink, bool paused, const Now& now);

  // The table may hold something new: it is read at once, and again if it is being read now.
  void poke(const Now& now);
  // Publishes nothing more; waits for the outcomes of what is in flight, settles, finishes. Twice is fine.
  void stop(const Now& now);
  // --once: reads until a page comes back that is not full, awaits what is waiting (but not what is not due yet), and
  // finishes; a sink whose breaker opens is given up.
  void drain(const Now& now);

  Commands take();

  // Set once another relay has taken over.
  bool fenced() const;
  // What the database refuses to store (Store::settle: invalid) although it takes the rest, with one of the reasons;
  // empty: nothing. It stays in memory and is tried again; meanwhile the position (position mode) or the row's mark
  // stays as it was, so that a restart brings the message again.
  std::string refusal() const;
  std::vector<SinkView> view() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace outbox
