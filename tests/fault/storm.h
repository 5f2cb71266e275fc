// A storm: relays that run while a schedule of faults passes over them, and over the ways to their peers and the peers
// themselves, and an application that trades all the while.
#pragma once

#include <cstdint>
#include <future>
#include <map>
#include <string>
#include <vector>

#include "fault/schedule.h"
#include "fault/trial.h"

namespace outbox::test {

class Storm {
 public:
  // The trial has proxies.
  Storm(Trial& trial, std::uint64_t seed, const Scope& scope);

  // Prints the schedule and what it does. Ends when all is healed, the relays have delivered what there is and have
  // ended by SIGTERM. What must not happen on the way is in faults().
  void pass();
  const std::vector<std::string>& faults() const { return faults_; }

 private:
  // A step begins, or is healed.
  struct Event {
    std::chrono::milliseconds at;
    const Step* step;
    bool heals;
  };
  std::vector<Event> events() const;
  void happen(const Event& event);
  void harm_relay(const Step& step);
  void heal_relay(const Step& step);
  void harm_link(FaultProxy& link, const Step& step);
  void harm_server(const Step& step);
  void heal_server(const Step& step);
  void await_broker();
  void look_at_relays();  // none has ended by itself; those that were stopped are started again
  void calm_down();       // until all is delivered
  void stop_relays();
  FaultProxy& link_of(const Thing& thing);
  void say(const std::string& what) const;

  Trial& trial_;
  const std::vector<Step> schedule_;
  Relays relays_;  // null: killed
  // To be started again once they have ended; until when that has to be.
  std::map<int, std::chrono::steady_clock::time_point> stopping_;
  std::future<void> broker_;  // on its way down or up
  bool database_away_ = false;
  std::chrono::steady_clock::time_point began_;
  std::vector<std::string> faults_;
};

}  // namespace outbox::test
