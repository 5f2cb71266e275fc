// What is measured by hand, each beside the limit that it has to keep. Every function prints as it goes, and returns
// whether the limits were kept; it throws where it could not measure.
#pragma once

#include <cstdint>
#include <string>

namespace outbox::test {

struct KillNumbers {
  std::string sink = "kafka";
  int relays = 3;
  int keys = 100;
  int messages_per_key = 1000;
  int seconds = 120;  // of trade
  int every = 5;      // seconds from one kill to the next; 0: nothing is killed
  int lease = 10;     // seconds
  // Stopped first, and killed once it was taken over from: as one on another machine, whose death nobody can see, so
  // that its lease has to run out.
  bool far = false;
  std::uint64_t seed = 1;
};
// Relays are killed while an application trades: nothing lost, no ghost, no inversion; duplicates beside what was in
// flight at each kill; how long until others have its work.
bool measure_kills(const KillNumbers& wanted);

struct OutageNumbers {
  std::string sink = "kafka";
  int rows = 1'000'000;  // that wait
  double minutes = 10;   // of the broker's absence
};
// The broker is away while rows wait: what the relay costs meanwhile, how often it tries, and how fast it drains later.
bool measure_outage(const OutageNumbers& wanted);

struct NeighbourNumbers {
  int seconds = 60;
  int rate = 300;  // messages a second
};
// One message that always fails, among others: their rate. Then a sink that hangs beside another: that one's latency.
bool measure_poison(const NeighbourNumbers& wanted);
bool measure_hang(const NeighbourNumbers& wanted);

}  // namespace outbox::test
