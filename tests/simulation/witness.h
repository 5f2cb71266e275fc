// Witness: is told everything that happens and knows the truth, so it says at once when a promise is broken that no
// later look at the far end could show: a duplicate without a cause, a message published past a dead letter that holds
// its key, a position that moves over something unsettled, an attempt charged for an outage.
//
// The end result (committed = delivered ∪ dead, order per key) is the checker's.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "database.h"
#include "model/delivery.h"
#include "model/lanes.h"
#include "model/outcome.h"
#include "relay/policy.h"
#include "sink/sink.h"

namespace outbox::sim {

struct Arrival {
  int message = 0;
  int version = 1;
};

// What is true of one message at one sink.
struct Fate {
  std::uint64_t covered_step = 0;  // since when the position or the mark says that it is settled
  std::uint64_t row_step = 0;      // since when it has a row in the side table
  bool confirmed = false;
  std::uint64_t confirmed_step = 0;
  int confirmed_to = -1;  // the life of a relay that was told so last
  int rejected_to = -1;   // the life that heard that it is rejected
  bool dead = false;
  bool was_dead = false;
  bool touched = false;  // by the operator
  bool discarded = false;
  int arrivals = 0;
  int tries = 0;
  bool exposed = false;           // published, and not settled when its share was taken over
  std::uint64_t try_step = 0;     // of the last one
  std::uint64_t judged_step = 0;  // of the last one that ended as unknown
  int charges = 0;                // tries that the rules let the relay charge
  Time charged_at{};              // the last busy(message)
  int charged_to = -1;            // and the life that heard it
  Time failed_at{};               // the first try that could be charged
  Time failing_since{};           // since when its row says that it has failed by its own fault
  std::uint64_t failing_step = 0;
};

class Witness {
 public:
  Witness(const Scenario& scenario, Database& database, Loop& loop, Trace& trace);

  struct Publisher {
    int life = 0;
    bool stale = false;   // another relay has taken over
    bool fenced = false;  // and this one knows
    bool lapsed = false;  // its lease has run out
    bool paused = false;  // the operator has paused the sink
    Duration lag{0};      // at most, of the database's clock as it knows it behind what it is
    Time since{};         // when its core began
  };
  // The share is taken over: what was published and not settled before may come twice.
  void taken_over(const Lanes& lanes);
  // No more duplicates than there were tries with an open end, and messages unsettled at a take-over.
  void check_duplicates(std::int64_t duplicates);
  void published(const Publisher& by, std::size_t sink, const Publication& publication);
  void reported(int life, std::size_t sink, const Publication& publication, const Outcome& outcome, bool alone);
  void arrived(std::size_t sink, const Message& message, int version);

  // A settle that `life` asked for at `step` is about to take effect.
  void writing(int life, std::uint64_t step) { writing_life_ = life, writing_step_ = step; }
  void position_moved(const Lanes& lanes, const Position& before, const Position& after);
  void marked(const Message& message);
  void parked(const std::string& sink, const Message& message, bool dead, const std::string& reason);
  void row_updated(const std::string& sink, const Message& message, ParkedUpdate::Kind kind, const std::string& reason);
  // The row says from now on that the message has failed by its own fault.
  void failing(const std::string& sink, const Message& message);
  // It is not to be tried before then, by the database's clock.
  void waits_until(const std::string& sink, const Message& message, Time next_attempt);
  void clock_set() { clock_set_at_ = loop_.now(); }
  // All that was written before has come to the sink, or was parked.
  void check_goes_on(std::size_t sink, Time created_before);
  void parked_for_destination(const std::string& sink, std::int64_t rows, bool follows);
  void discarded(const std::string& sink, const Message& message);
  void requeued(const std::string& sink, const Message& message, bool edited);

  // Outcomes that leave open whether a message arrived.
  int doubts() const { return doubts_; }
  // The first broken promise; "" if there is none.
  const std::string& broken_promise() const { return broken_promise_; }
  template <class... Args>
  void broken(fmt::format_string<Args...> format, Args&&... args) {
    if (broken_promise_.empty()) note(fmt::format(format, std::forward<Args>(args)...));
  }

  const std::vector<Arrival>& arrivals(std::size_t sink) const { return arrivals_[sink]; }
  const Route* route(std::size_t sink, const Message& message) const;
  bool routed_anywhere(const Message& message) const;
  const Message& message(const std::string& id) { return database_.message(id); }
  Fate& fate(std::size_t sink, const Message& message);

 private:
  void note(std::string text);
  std::size_t sink_index(const std::string& name) const;
  void check_again(const Publisher& by, std::size_t sink, const Message& message, const Record& record);
  void check_held(const Publisher& by, std::size_t sink, const Message& message);
  void check_turn(std::size_t sink, const Message& message);
  void check_backoff(const Publisher& by, std::size_t sink, const Message& message);
  void check_age(const Publisher& by, std::size_t sink, const Message& message);
  void check_budget(const Publisher& by, std::size_t sink, const Message& message, const Record& record);
  const RetryPolicy& retry_of(std::size_t sink, const Message& message) const;
  void check_settled(const Message& message);
  void check_death(std::size_t sink, const Message& message, const std::string& reason);

  struct Successes {  // of one destination: the last one, and the last one of another message
    int message = -1;
    std::uint64_t step = 0;
    std::uint64_t other_step = 0;
  };

  const Scenario& scenario_;
  Database& database_;
  Loop& loop_;
  Trace& trace_;
  std::vector<std::vector<Fate>> fates_;  // sink, message
  std::vector<std::vector<Arrival>> arrivals_;
  std::map<std::string, Successes> successes_;  // sink and destination
  struct Tries {
    int first = 0;
    int again = 0;
  };
  std::map<std::pair<int, std::size_t>, Tries> tries_;  // of a core, at a sink
  std::map<std::size_t, int> failures_;                 // of a sink or its destinations
  int doubts_ = 0;
  int exposed_ = 0;   // published and not settled at a take-over
  int requeued_ = 0;  // by the operator
  Time clock_set_at_{-1h};
  int writing_life_ = -1;
  std::uint64_t writing_step_ = 0;
  std::string broken_promise_;
};

}  // namespace outbox::sim
