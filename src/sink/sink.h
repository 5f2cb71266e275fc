// Sink: one way out (a broker, an endpoint, a file). Small on purpose: a sink hands over, waits for the far side's
// confirmation and says what it saw. It never sleeps, counts, retries, re-orders or logs per message: retry, breaker,
// rate and order live once, in the relay.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/outcome.h"
#include "model/record.h"

namespace outbox {

// One message on its way to one destination. The sink keeps the shared record until it has reported the outcome.
struct Publication {
  DeliveryId id = 0;
  RecordPtr record;
  std::string destination;  // the address as the route resolves it: topic, URL, path; never empty
  int attempt = 1;          // 1 for the first try; for headers and logs only
  // Nothing else of its key is in flight: the relay has taken note of every outcome that was reported for the key.
  bool first_in_key = false;
};

struct Capabilities {
  // Several messages of one key may be in flight at once. The sink then promises: once it reports anything but
  // `delivered` or `rejected` for a message, no later message of that key which it already holds gets delivered;
  // they come back undelivered as well, and so do those that it is handed before the relay has taken note: up to the
  // next Publication::first_in_key of that key. Without it the relay keeps one message of a key in flight.
  bool pipelines_key = false;
  // The most that the relay may leave unconfirmed at this sink. `publish` never blocks below these.
  std::size_t window_messages = 1000;
  std::size_t window_bytes = 16u << 20;
  // A larger payload is refused before it is published (dead letter, reason too_large); 0: no limit known.
  std::size_t payload_max = 0;
  // The fields of a route's address lead to destinations of their own: another topic, another stream. Without it all
  // that a route sends has one destination, up or down as a whole: the paths of one URL.
  bool fields_lead_elsewhere = true;
  // Only one instance may be open at a time, in this process or any other: the sink's feed is not divided.
  bool one_writer = false;
};

// Receives outcomes. Called from any thread of the sink's; returns at once; never called with a lock of the sink held
// that publish() takes. Every publication is completed exactly once, close() and reopen() included.
class CompletionListener {
 public:
  virtual ~CompletionListener() = default;
  virtual void completed(std::vector<Completion> completions) = 0;
};

// Thread: open, publish, reopen and close are called by one relay thread, never concurrently.
class Sink {
 public:
  virtual ~Sink() = default;

  virtual Capabilities capabilities() const = 0;

  // Prepares the client. Returns at once and does not need the far side to be there: that it is away is learned by
  // outcomes (`busy`, scope sink). Fails only on what no waiting mends: bad options, an unreadable key file.
  // `listener` outlives the sink.
  virtual Result<void> open(CompletionListener& listener) = 0;

  // Takes the publications over, in order. Does not block on the network or the disk.
  virtual void publish(std::span<const Publication> batch) = 0;

  // After client_dead, or to take back what the client holds: throws the old client away and builds a new one.
  // Everything unconfirmed has been completed with client_dead when it returns. May block for up to a second; fails if
  // it takes longer. Then it has to be called again, and nothing may be published until it has succeeded; but from the
  // failure on nothing more goes out of what the client holds, and all of it comes back with client_dead.
  virtual Result<void> reopen() = 0;

  // Gives up what is in flight (each completed with `unknown`, reason "closed") and releases everything. The relay
  // waits for outcomes before it calls this. May block for up to a second. Calling it twice is fine.
  virtual void close() = 0;
};

}  // namespace outbox
