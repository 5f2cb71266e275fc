// outbox::Relay: the relay of outboxd in your own process, delivering to sinks of your own (outbox/message_sink.h).
//
//   outbox::RelayOptions options;
//   options.database = "postgresql://shop@localhost/shop";  // or sqlite:shop.db
//   outbox::Relay relay(options);
//   relay.add_sink("mail", std::make_shared<Mailer>());
//   relay.start();
//   ...
//   outbox::enqueue(connection, message);  // in a transaction of yours
//   commit();
//   relay.poke();                          // it is read now, not at the next poll
//
// It is the same relay as `outboxd run`: the tables made by `outboxd init`, at-least-once delivery in key order, retry,
// breaker, dead letters, leases. Several programs with a sink of the same name share its messages; others, outboxd
// included, work on the same table with sinks of other names. docs/guide/embedded-relay.md says how they go together,
// and how to see and mend things with `outboxd status`, `list`, `requeue`.
//
// What survives a crash is in the database: which messages each sink has had, and those that wait or are dead. After
// one at most the messages that were with a sink at that moment come again.
//
// Link outbox::relay: find_package(outbox REQUIRED COMPONENTS relay).
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "outbox/error.h"
#include "outbox/message_sink.h"

namespace outbox {

struct RelayOptions {
  std::string database;          // URL: "postgresql://…" or "sqlite:FILE". It may hold a password and is never shown
  std::string table = "outbox";  // as given to `outboxd init --table`
  std::string name;              // in logs and `outboxd status`; no two at once. Empty: HOST:PID:TAG
  std::chrono::microseconds drain_timeout = std::chrono::seconds(10);  // see Relay::stop()
  // How long a relay that says nothing more keeps its messages from the others. At least a second.
  std::chrono::microseconds lease = std::chrono::seconds(10);
  // Delivered rows of the outbox table are deleted when they are so old. None: never, or somebody else does.
  std::optional<std::chrono::microseconds> retain;
};

struct MessageSinkOptions {
  // Where a sink begins whose name the database has not seen before: with the first message that is still in the table,
  // or with the first that is enqueued after it was first started.
  bool from_beginning = false;

  // Only messages of this aggregate type, of this type; all where none is given. The sink passes the others over.
  std::optional<std::string> aggregate_type;
  std::optional<std::string> type;

  // How many calls of deliver() may run at once, of different keys. Above 1 the sink has to be thread-safe.
  int concurrency = 1;

  // Attempts that count (DeliveryOutcome), and the pauses between them: random, up to retry_base, doubled each time up
  // to retry_cap.
  int attempts = 8;
  std::chrono::microseconds retry_base = std::chrono::seconds(1);
  std::chrono::microseconds retry_cap = std::chrono::seconds(30);

  // False: the later messages of a key go on when one of it is dead. True: they wait until it was sent again or
  // discarded.
  bool dead_letter_holds_key = false;
};

struct MessageSinkFigures {
  std::string name;
  std::uint64_t delivered = 0;  // since start()
  std::uint64_t died = 0;       // since start()
  std::size_t in_flight = 0;    // with the sink now
  std::int64_t waiting = 0;     // in the database, for another try or their turn, as of the last second or two
  std::int64_t dead = 0;        // the same
  std::string held_because;     // why nothing is delivered now; empty: all is well
  std::string last_error;       // "reason: detail" of the last call that did not deliver
};

struct RelayFigures {
  enum class State {
    stopped,   // not started yet, or stopped
    starting,  // the database does not answer yet, or nobody has this relay's messages yet
    running,   // it reads, or stands by because other relays have all there is
    failed,    // it has ended by itself: `error` says why. Destroy it; a new one may be started
  };
  State state = State::stopped;
  std::string error;  // why it failed; while it runs, why the database cannot be read or written
  std::vector<MessageSinkFigures> sinks;
};

enum class RelayLogLevel { debug, info, warn, error };

// Where the lines of all relays of this process go, and from which level on. Without it: warnings and errors go to
// standard error. `write` gets a line in logfmt without its end, is called from the relays' threads, one call at a
// time, and must return at once; it must not throw or call a relay. An empty one: standard error again. Thread-safe.
void set_relay_log(RelayLogLevel level, std::function<void(RelayLogLevel, std::string_view line)> write);

// Thread: add_sink() and start() by one thread; then all but the destructor from any.
class Relay {
 public:
  // Connects to nothing. Throws Error if an option makes no sense.
  explicit Relay(const RelayOptions& options);
  // Stops. Returns when no call of deliver() runs any more.
  ~Relay();
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;

  // Before start(). `name` is what the database knows the sink by, for good: 1 to 64 letters, digits, '_', '-', '.'.
  // `sink` is kept until the relay is destroyed. Throws Error on a name that is taken or makes no sense.
  void add_sink(const std::string& name, std::shared_ptr<MessageSink> sink, const MessageSinkOptions& options = {});

  // Looks at the table and begins to deliver, on threads of its own. Blocks for a few round trips to the database.
  // Throws Error, and has then started nothing: retryable() if the database is out of reach, so that the same call may
  // succeed later; else somebody has to act (no such table, no privilege, no sink). Once it has started it waits by
  // itself for a database that goes away. Once only.
  void start();

  // Reads the table at once instead of at the next poll, up to 200 ms later. Call it after each commit; a poke that
  // comes while the table is being read makes it be read again. Never blocks; does nothing where it is not running.
  void poke() noexcept;

  // Hands nothing more to the sinks, waits up to drain_timeout for the calls that run and stores what came of them, and
  // leaves the rest to other relays or the next start. Blocks until then; a call of deliver() that takes longer is left
  // behind, and comes again. Twice is fine. Not from within deliver().
  void stop();

  // Returns at once: the picture is renewed several times a second.
  RelayFigures figures() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace outbox
