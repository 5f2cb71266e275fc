// Record: one message as it was read back from an outbox table.
//
// Plain value. Immutable once a source has filled it; it is shared (RecordPtr) between the relay and the sinks
// that still have it in flight, from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/time.h"

namespace outbox {

struct Record {
  std::int64_t seq = 0;   // place inside its window (see Position); unique where the table has such a column, else 0
  std::uint64_t xid = 0;  // the writing transaction, where the table has that column; else 0

  std::string id;  // opaque text, 1 to 255 bytes
  std::string aggregate_type;
  std::string aggregate_id;
  std::string type;
  std::string key;  // ordering key, make_key(aggregate_type, aggregate_id)

  std::string payload;  // the bytes as the database gives them, never re-typed
  bool payload_null = false;
  bool payload_json = true;  // the column's type is json, jsonb or text; false for bytea and blob

  std::string headers;  // a JSON object as text, or empty; see model/headers.h
  std::string traceparent;
  Time created_at{};
  std::optional<Time> not_before;
  std::optional<std::int64_t> aggregate_version;
  std::optional<std::int32_t> schema_version;

  // What the record weighs in a window bounded in bytes.
  std::size_t bytes() const {
    return sizeof(Record) + id.size() + aggregate_type.size() + 2 * aggregate_id.size() + type.size() + payload.size() +
           headers.size();
  }
};

using RecordPtr = std::shared_ptr<const Record>;

inline std::string make_key(std::string_view aggregate_type, std::string_view aggregate_id) {
  std::string key;
  key.reserve(aggregate_type.size() + 1 + aggregate_id.size());
  key.append(aggregate_type).append(1, ':').append(aggregate_id);
  return key;
}

}  // namespace outbox
