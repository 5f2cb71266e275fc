// The row of the application's file that a feed has read last: the source notes it, and the store asks for it before it
// moves the position. As long as that row stands as it was read, the file has not been restored to an earlier state,
// and the numbers up to it mean the messages that were delivered.
//
// Shared by the source and the store of one feed. Thread: any.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

namespace outbox::db {

struct ReadRow {
  std::int64_t seq = 0;
  std::optional<std::string> id;  // empty: there was no row at `seq`, or it had no id
};

class LastRead {
 public:
  void set(ReadRow row) {
    const std::lock_guard lock(mutex_);
    row_ = std::move(row);
  }
  // Unless a later row was read.
  void advance(ReadRow row) {
    const std::lock_guard lock(mutex_);
    if (row.seq > row_.seq) row_ = std::move(row);
  }
  ReadRow get() const {
    const std::lock_guard lock(mutex_);
    return row_;
  }

 private:
  mutable std::mutex mutex_;
  ReadRow row_;
};

}  // namespace outbox::db
