// outbox::MessageSink: a way out of your own, for an embedded relay (outbox/relay.h).
//
//   class Mailer : public outbox::MessageSink {
//    public:
//     outbox::DeliveryOutcome deliver(const outbox::OutboundMessage& message) override {
//       if (!is_address(message.aggregate_id)) {
//         return outbox::DeliveryOutcome::rejected("bad_address", "not a mailbox");
//       }
//       server_.send(message.aggregate_id, message.payload);  // throws where it fails: it is tried again
//       return outbox::DeliveryOutcome::delivered();
//     }
//   };
//
// A sink hands one message over and says what it saw. Retry, backoff, breaker, order and dead letters are the relay's:
// a sink never repeats, waits between tries, or counts.
#pragma once

#include <chrono>
#include <string>
#include <utility>

#include "outbox/message.h"

namespace outbox {

// A message on its way to a sink: as it was enqueued, and what is known of it since.
struct OutboundMessage : Message {
  std::chrono::sys_time<std::chrono::microseconds> created_at;  // by the database's clock, UTC
  // 1 for the first try. Tries that were charged to nobody (see DeliveryOutcome) count too, but are forgotten when the
  // relay ends or the message is stored for later: it may go back.
  int attempt = 1;
};

// What came of one call of deliver(). `reason` is a short stable word ("bad_address"), by which dead letters are found
// and counted; `detail` is a line for people. Both are stored and shown: no secrets. They are cut to 64 bytes and 1
// KiB.
class DeliveryOutcome {
 public:
  enum class Kind { delivered, rejected, unavailable, unknown };

  // The far side has it for good: say so only once it has confirmed. It is not sent again, but after a crash.
  static DeliveryOutcome delivered() { return {Kind::delivered, {}, {}, {}}; }
  // The message's fault, and no try will mend it: a dead letter at once. Nobody waits for it but its key, where
  // MessageSinkOptions::dead_letter_holds_key says so.
  static DeliveryOutcome rejected(std::string reason, std::string detail) {
    return {Kind::rejected, std::move(reason), std::move(detail), {}};
  }
  // The far side's fault (down, refused, credentials): every message waits, none is charged an attempt, and one at a
  // time is tried, less and less often, until one is delivered.
  static DeliveryOutcome unavailable(std::string reason, std::string detail) {
    return {Kind::unavailable, std::move(reason), std::move(detail), {}};
  }
  // The far side asked to be left alone for so long: every message waits, none is charged.
  static DeliveryOutcome retry_after(std::chrono::microseconds wait, std::string reason, std::string detail) {
    return {Kind::unavailable, std::move(reason), std::move(detail), wait};
  }
  // It failed, or may have succeeded (a time-out after sending), and it cannot be told whose fault that is. If another
  // message was delivered since this one's last try it is this one's and counts as an attempt, the last of which makes
  // it a dead letter; else it is taken for the far side's. It is sent again with the same id.
  static DeliveryOutcome unknown(std::string reason, std::string detail) {
    return {Kind::unknown, std::move(reason), std::move(detail), {}};
  }

  Kind kind() const noexcept { return kind_; }
  const std::string& reason() const noexcept { return reason_; }
  const std::string& detail() const noexcept { return detail_; }
  std::chrono::microseconds wait() const noexcept { return wait_; }  // zero: the relay's own backoff

 private:
  DeliveryOutcome(Kind kind, std::string reason, std::string detail, std::chrono::microseconds wait)
      : kind_(kind), reason_(std::move(reason)), detail_(std::move(detail)), wait_(wait) {}

  Kind kind_;
  std::string reason_;
  std::string detail_;
  std::chrono::microseconds wait_;
};

class MessageSink {
 public:
  virtual ~MessageSink() = default;

  // Hands one message over and returns when the far side has taken it or has failed. An exception is
  // unknown("exception", what()).
  //
  // Called on a thread of the relay's, never with one of its locks held. It may block as long as it needs; the relay's
  // stop() waits for it, so give your client a time-out. Messages of one key come one after the other, in their order,
  // whatever the outcomes. Calls overlap only where MessageSinkOptions::concurrency is above 1. It must not call the
  // relay's stop() or destroy it; poke() and figures() are fine.
  //
  // A message may come more than once: after a crash, or if an outcome was lost. It then has the same id.
  virtual DeliveryOutcome deliver(const OutboundMessage& message) = 0;
};

}  // namespace outbox
