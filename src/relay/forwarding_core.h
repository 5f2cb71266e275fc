// ForwardingCore: which copies of dead letters are sent next to the sink that `dead_letters.forward` names, and what
// the sink's answers mean. No thread, clock or SQL: relay/forwarder.h carries out.
//
// Dead letters are walked through in rounds, each from the first one that is not forwarded, in waves: of each key one
// copy at a time, so that the copies of a key arrive in the order of its deaths. A copy that fails keeps its key out of
// the round. An outage charges nobody; a copy is given up only when the sink refuses it, or when it fails
// `retry.attempts` times while others of the same sink arrive. It is never dead-lettered itself.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "model/outcome.h"
#include "relay/policy.h"
#include "sink/sink.h"
#include "store/forwarding_store.h"

namespace outbox {

// The longest text of a reason header, in bytes; cut between characters, on one line.
inline constexpr std::size_t kForwardedTextMax = 1024;

// The message as its first send, id, key and body untouched, with the headers dead-letter-sink, -reason, -error, -owner
// (the last two unless they are empty), -attempts and -at beside its own. Headers of its own that cannot be read are
// left out.
RecordPtr forwarded_copy(const DeadLetter& dead);

class ForwardingCore {
 public:
  struct Copy {
    DeadLetter dead;
    RecordPtr record;
    std::string destination;
    std::optional<Outcome> outcome;  // known without publishing: it is too large
  };

  ForwardingCore(Route route, const Capabilities& sink, RetryPolicy retry, std::uint64_t seed)
      : route_(std::move(route)), sink_(sink), retry_(retry), random_(seed) {}

  void begin_round();
  // Takes out of `left`, in order, what may be published at once; what has to wait for another round is dropped from
  // it. Empty: nothing of `left` can go in this round.
  std::vector<Copy> next_wave(std::vector<DeadLetter>& left);
  // The copies that are done with. `outcomes`: one for each of the wave.
  std::vector<Forwarded> judge(const std::vector<Copy>& wave, const std::vector<Outcome>& outcomes);
  // The sink is away, or too much has failed: the rest has to wait for another round.
  bool round_is_over() const { return over_ || waiting_keys_.size() >= kWaitingMax; }
  // How long to leave the sink alone; zero: nothing failed.
  Duration end_round();
  // Nothing arrives at the sink: one copy at a time is tried until one does.
  bool away() const { return away_; }
  const std::string& last_failure() const { return last_failure_; }  // of a copy that is tried again

 private:
  static constexpr std::size_t kWaveMax = 100;
  static constexpr std::size_t kWaitingMax = 1000;  // bounds what a round remembers

  struct Tries {
    int charged = 0;
    std::uint64_t delivered_before = 0;  // of the sink, at the last try
  };
  using Death = std::pair<std::int64_t, Time>;

  Copy make_copy(const DeadLetter& dead) const;
  std::optional<Forwarded> judge_one(const Copy& copy, const Outcome& outcome);
  std::optional<Forwarded> failed(const Copy& copy, const Outcome& outcome);
  void wait(const Copy& copy);

  const Route route_;
  const Capabilities sink_;
  const RetryPolicy retry_;
  Random random_;

  std::uint64_t delivered_ = 0;
  std::uint64_t wave_began_at_ = 0;  // delivered_, then
  std::uint64_t round_began_at_ = 0;
  bool away_ = false;
  std::string last_failure_;
  int failed_rounds_ = 0;   // in a row
  std::string last_probe_;  // the key that failed last as the only one
  std::map<Death, Tries> tries_;

  // Of this round.
  bool over_ = false;
  Duration asked_to_wait_{0};
  std::set<std::string> waiting_keys_;
  std::set<std::string> closed_;  // destinations
};

}  // namespace outbox
