// outbox::Message: what an application enqueues, inside its own transaction.
//
// A plain value that owns its parts. The payload's bytes are stored and delivered as they are, never re-typed.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace outbox {

// A header may appear several times. Names and values must not hold a NUL.
using Headers = std::vector<std::pair<std::string, std::string>>;

struct Message {
  std::string aggregate_type;  // "order"; required
  std::string aggregate_id;    // "4711"; required. With aggregate_type it is the ordering key
  std::string type;            // "OrderConfirmed"; required

  std::string payload;  // JSON text, or any bytes if payload_is_bytes
  bool payload_is_bytes = false;

  std::string id;  // a UUID; empty: enqueue makes a UUIDv7 and returns it
  Headers headers;
  std::optional<std::int32_t> schema_version;
  std::optional<std::int64_t> aggregate_version;
  std::optional<std::chrono::sys_time<std::chrono::microseconds>> not_before;  // by the database's clock, UTC
  std::string traceparent;                                                     // W3C trace context; empty: none
};

// A new UUIDv7 (RFC 9562): 36 characters, ordered by creation time. Thread-safe.
std::string make_message_id();

}  // namespace outbox
