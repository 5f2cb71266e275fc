// Outcome: what a sink says of one publication. A sink judges only what it saw; whose fault an `unknown` is, how
// often to try and when, is the relay's business (docs/ARCHITECTURE.md, "The states of a delivery").
#pragma once

#include <cstdint>
#include <string>

#include "base/time.h"

namespace outbox {

// Identifies one publication while it is in flight. Never reused within a relay's life.
using DeliveryId = std::uint64_t;

enum class Verdict {
  delivered,    // the far side has confirmed it durably; detail = the receipt ("orders/3/4711", "201")
  rejected,     // this message can never be accepted: dead at once
  busy,         // not now; scope says who is to wait, `after` for how long if the far side said so
  unknown,      // a time-out after sending, or a 5xx: neither the result nor whose fault it is is known
  client_dead,  // the client had to be given up: everything that this sink has in flight comes back with this
};

enum class Scope {
  message,      // this message alone (charged as an attempt)
  destination,  // every message to the same destination (never charged)
  sink,         // every message of the sink: the connection (never charged)
};

struct Outcome {
  Verdict verdict = Verdict::unknown;
  Scope scope = Scope::message;  // read for `busy` only
  Duration after{0};             // read for `busy` only; 0: the relay's own backoff
  std::string reason;            // stable word for metrics and dead letters, "timeout"; delivered: "duplicate" or none
  std::string detail;            // one line for people; no secrets, no payload; at most 1 KiB
};

struct Completion {
  DeliveryId id = 0;
  Outcome outcome;
};

inline Outcome delivered(std::string receipt) {
  return {Verdict::delivered, Scope::message, {}, {}, std::move(receipt)};
}
inline Outcome rejected(std::string reason, std::string detail) {
  return {Verdict::rejected, Scope::message, {}, std::move(reason), std::move(detail)};
}
inline Outcome busy(Scope scope, std::string reason, std::string detail, Duration after = {}) {
  return {Verdict::busy, scope, after, std::move(reason), std::move(detail)};
}
inline Outcome unknown(std::string reason, std::string detail) {
  return {Verdict::unknown, Scope::message, {}, std::move(reason), std::move(detail)};
}
inline Outcome client_dead(std::string reason, std::string detail) {
  return {Verdict::client_dead, Scope::sink, {}, std::move(reason), std::move(detail)};
}

}  // namespace outbox
