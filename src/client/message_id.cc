// UUIDv7 (RFC 9562, section 6.2, method 3): 48 bits of milliseconds, 12 bits of a finer clock, 62 random bits. The 60
// bits of time never repeat within a process, so ids are ordered by creation also when the clock stands or goes back.
#include <sys/random.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "client/uuid.h"
#include "outbox/error.h"
#include "outbox/message.h"

namespace outbox {
namespace {

// Milliseconds since 1970 and 4096ths of one.
std::uint64_t clock_ticks() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto microseconds =
      static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(now).count());
  return (microseconds / 1000) << 12 | (microseconds % 1000) * 4096 / 1000;
}

std::uint64_t next_ticks() {
  static std::atomic<std::uint64_t> last{0};
  const std::uint64_t now = clock_ticks();
  std::uint64_t previous = last.load(std::memory_order_relaxed);
  std::uint64_t next = 0;
  do {
    next = now > previous ? now : previous + 1;
  } while (!last.compare_exchange_weak(previous, next, std::memory_order_relaxed));
  return next;
}

// From the operating system each time, so a forked child does not repeat its parent's.
void fill_random(std::uint8_t* bytes, std::size_t size) {
  while (size > 0) {
    const ssize_t got = getrandom(bytes, size, 0);
    if (got < 0) {
      if (errno == EINTR) continue;
      throw Error(std::string("no random bytes for a message id: ") + std::strerror(errno), {}, true, false);
    }
    bytes += got;
    size -= static_cast<std::size_t>(got);
  }
}

}  // namespace

std::string make_message_id() {
  client::Uuid uuid{};
  fill_random(uuid.data() + 8, 8);
  const std::uint64_t ticks = next_ticks();
  for (std::size_t i = 0; i < 6; ++i) uuid[i] = static_cast<std::uint8_t>(ticks >> (52 - 8 * i));
  uuid[6] = static_cast<std::uint8_t>(0x70 | (ticks >> 8 & 0x0f));
  uuid[7] = static_cast<std::uint8_t>(ticks);
  uuid[8] = static_cast<std::uint8_t>(0x80 | (uuid[8] & 0x3f));
  return client::uuid_text(uuid);
}

}  // namespace outbox
