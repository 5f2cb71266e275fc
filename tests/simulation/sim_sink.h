// SimSink: a sink's client and its far end. The far end outlives relays and records what arrived, in order; the client
// is one relay's and keeps the promises of sink/sink.h: one outcome per publication, order per key where it pipelines.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "sink/sink.h"
#include "witness.h"

namespace outbox::sim {

// What a far end says of one message that reaches it.
struct Answer {
  bool arrives = false;
  Outcome outcome;
  Duration late{0};  // beyond the usual delay: a time-out
};

class FarEnd {
 public:
  FarEnd(const Scenario& scenario, std::size_t sink, Dice& dice, Witness& witness, Trace& trace);

  enum class Trouble { none, refuses, busy, errors, hangs };
  void whole(Trouble trouble);
  void destination(const std::string& name, Trouble trouble);
  void heal();
  std::vector<std::string> destinations() const;

  Answer receive(const Publication& publication, const Faults& faults);

 private:
  Answer in_trouble(Trouble trouble, Scope scope);

  const Scenario& scenario_;
  std::size_t sink_;
  Dice& dice_;
  Witness& witness_;
  Trace& trace_;
  Trouble whole_ = Trouble::none;
  std::map<std::string, Trouble> troubles_;
  std::map<std::string, int> failures_;  // per message, so that none of them fails for ever by chance
};

class SimSink final : public Sink {
 public:
  struct World {
    const Scenario& scenario;
    const Faults& faults;  // emptied when the world heals
    Loop& loop;
    Dice& dice;
    Witness& witness;
    Trace& trace;
  };
  SimSink(World world, FarEnd& far_end, std::size_t sink);

  Capabilities capabilities() const override { return world_.scenario.options.sinks[sink_].capabilities; }
  Result<void> open(CompletionListener& listener) override;
  void publish(std::span<const Publication> batch) override;
  Result<void> reopen() override;
  void close() override {}

  // What is published from now on belongs to another memory of the core.
  void begin_life(int life) { life_ = life; }
  // What an earlier memory still has in flight.
  std::size_t strays() const;
  // The relay's process is gone: what is on the wire may still arrive.
  void crash();
  // The relay's process is stopped: what is on the wire may still arrive, the rest goes out at `until`.
  void stopped_until(Time until);
  // The relay has taken note that its lease has run out, and is to take back what the client holds at once.
  void lapsed();
  bool idle() const { return state_->flights.empty(); }
  // Between the first outcome client_dead and reopen().
  bool dead() const { return state_->dead; }
  void die();

 private:
  struct Flight {
    Publication publication;
    int life = 0;
    bool received = false;  // the far end has judged it
    bool failing = false;   // and it will come back
    Time lapsed_at = kNever;
  };
  struct State {
    std::map<DeliveryId, Flight> flights;  // in order of publication
    std::map<std::string, Time> last_arrival;
    std::map<std::string, Outcome> failed_keys;  // until the relay has taken note (Publication::first_in_key)
    bool dead = false;
  };

  bool asleep() const { return stopped_until_ > world_.loop.now(); }
  bool refuse(const Publication& publication);
  void receive(const std::shared_ptr<State>& state, DeliveryId id);
  void report(const std::shared_ptr<State>& state, DeliveryId id, const Outcome& outcome);
  bool blocked(const State& state, DeliveryId id, const std::string& key) const;
  bool pipelines() const { return world_.scenario.sinks[sink_].kind != SinkKind::one_per_key; }
  bool fragile() const { return world_.scenario.sinks[sink_].kind == SinkKind::pipelined_fragile; }
  void complete(State& state, std::vector<std::pair<DeliveryId, Outcome>> outcomes);
  void orphan(const State& state);

  World world_;
  FarEnd& far_end_;
  std::size_t sink_;
  int life_ = 0;
  Time stopped_until_{};
  DeliveryId on_wire_ = 0;  // while asleep: up to this one
  CompletionListener* listener_ = nullptr;
  std::shared_ptr<State> state_ = std::make_shared<State>();
};

}  // namespace outbox::sim
