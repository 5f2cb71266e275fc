// Process: one simulated relay process, as app/relay_service runs it: it keeps its lease, runs a relay for each share
// that it owns, and takes and gives shares as others come and go (the product's own relay/sharing.h decides).
//
// It can be stopped and woken (SIGSTOP, SIGCONT), crash at any moment, or leave in peace. While it is stopped nothing
// of it runs: what its clients had handed to the far side may still arrive, what they held goes out at the moment of
// waking, before anything else. Its clock has an offset of its own, and runs on while it is stopped.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "relay.h"

namespace outbox::sim {

class Process {
 public:
  Process(Relay::World world, int number);

  void start();
  void crash();
  void stop_for(Duration duration);  // SIGSTOP, then SIGCONT
  void leave();
  void drain();
  void pause(std::size_t sink, bool paused);
  void kill_client(std::size_t sink);

  bool alive() const { return alive_; }
  bool ended() const { return ended_; }
  bool running() const { return alive_ && !ended_; }
  const std::string& name() const { return name_; }
  std::size_t in_flight() const;
  std::vector<Relay*> relays() const;
  std::string state() const;

  // For its relays.
  Time stopped_until() const { return stopped_until_; }
  bool is_stopped() const { return stopped_until_ > world_.loop.now(); }
  // First moment at which something of it runs, after what the clients hold has gone out.
  Time awake_at() const { return stopped_until_ + Duration(1); }
  bool calls_are_held() const { return calls_held_ && is_stopped(); }
  SteadyTime local_now() const { return SteadyTime(world_.loop.now().time_since_epoch() + uptime_); }
  // The term of its lease that is valid now, by its own clock; 0: none.
  std::uint64_t term() const { return local_now() < until_ ? term_ : 0; }
  bool paused(std::size_t sink) const { return paused_.contains(sink); }
  void relay_ended(Time joined_at);

 private:
  struct Running {
    Share share;
    std::unique_ptr<Relay> relay;
    std::optional<int> give_from;
    bool reaped = false;
  };

  void event(std::function<void()> event);
  void call(std::function<void()> effect, std::function<void(bool answered)> answer);
  void keep_lease();
  void renewed(SteadyTime asked_at, const Roster& roster);
  void look_at_lease();
  void follow(const Roster& roster);
  void start_relay(const Share& share);
  Running* running(const Share& share);
  void reap();
  void give(const Share& share, int from);
  void end();

  Relay::World world_;
  const int number_;
  const std::string name_;
  const Duration uptime_;  // of its machine, as the world begins
  bool alive_ = true;
  bool ended_ = false;
  bool leaving_ = false;
  bool draining_ = false;
  bool ending_ = false;
  bool renewing_ = false;
  Time stopped_until_{};
  bool calls_held_ = false;
  Time keeper_free_{};
  std::uint64_t term_ = 0;
  SteadyTime until_ = SteadyTime::min();  // by its own clock
  std::set<std::size_t> paused_;
  std::vector<Running> running_;  // and those that have ended: what is on its way still names them
};

}  // namespace outbox::sim
