// What goes wrong, and when: made from a seed alone, so that the seed tells it all again.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace outbox::test {

enum class Fault {
  // Of a relay. Each ends with a relay that runs again.
  kill,   // SIGKILL, and a new one later
  stop,   // SIGTERM, and a new one later
  pause,  // SIGSTOP, SIGCONT: often past its lease
  // Of the network, to the sink or to the database.
  delay,
  throttle,
  hold,          // half-open
  drop_answers,  // ends by a cut: the rest of an answer would make no sense
  refuse,        // what is there is cut, and nothing new is let in
  cut,
  // Of a server, broker or database.
  crash,   // kill -9, and a start later
  freeze,  // SIGSTOP, SIGCONT
};

// What it happens to. Nothing has two faults at once; different things may.
struct Thing {
  enum class Kind { relay, sink_link, database_link, broker, database };
  Kind kind = Kind::relay;
  int number = 0;  // of the relay, from 0
  bool operator==(const Thing&) const = default;
};

struct Step {
  std::chrono::milliseconds at{0};     // from the beginning
  std::chrono::milliseconds until{0};  // when it is healed
  Thing thing;
  Fault fault = Fault::kill;
  int amount = 0;  // delay: ms each way; throttle: KB/s each way
};

struct Scope {
  int relays = 1;
  std::chrono::milliseconds lasts{30'000};  // all is healed by then
  std::chrono::milliseconds lease{2'000};
};

// In the order of `at`.
std::vector<Step> make_schedule(std::uint64_t seed, const Scope& scope);
// "12.3 s: relay 2: kill, until 13.0 s".
std::string describe(const Step& step);
std::string describe(const Thing& thing);

}  // namespace outbox::test
