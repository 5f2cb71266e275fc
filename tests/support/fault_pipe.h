// One direction of a connection through FaultProxy: what has come in and when it may go on. No socket, no clock: the
// caller says what time it is.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

namespace outbox::test {

// What a network does to what passes through it. By default: nothing.
struct LinkFault {
  bool refuse = false;     // nobody listens any more
  bool turn_away = false;  // a new connection is taken, counted, and ended at once
  bool hold = false;       // half-open: nothing passes, in either direction, and no connection ends; later it goes on
  bool drop_answers = false;           // what the server says is thrown away; what is asked arrives
  std::chrono::milliseconds delay{0};  // each way
  std::int64_t bytes_per_second = 0;   // each way of each connection; 0: as many as there are
};

class FaultPipe {
 public:
  using Time = std::chrono::steady_clock::time_point;

  void push(std::string_view bytes, Time now, const LinkFault& fault);
  // No more is to be read from the sender until something has gone on.
  bool full() const { return size_ >= kCapacity; }
  bool empty() const { return size_ == 0; }

  // What may go on now, perhaps only a part. It stands until pop().
  std::string_view ready(Time now, const LinkFault& fault) const;
  // `count` bytes of it have gone on.
  void pop(std::size_t count, Time now, const LinkFault& fault);
  // When something will be ready that is not now; nothing: not by waiting.
  std::optional<Time> next(Time now, const LinkFault& fault) const;

 private:
  static constexpr std::size_t kCapacity = 256 * 1024;
  struct Chunk {
    std::string bytes;
    Time due;
  };

  std::deque<Chunk> chunks_;
  std::size_t offset_ = 0;  // into the first chunk
  std::size_t size_ = 0;
  Time gate_{};  // shut until then, for the sake of the rate
};

}  // namespace outbox::test
