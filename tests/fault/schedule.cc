#include "fault/schedule.h"

#include <algorithm>
#include <cstdio>
#include <random>

namespace outbox::test {
namespace {

using std::chrono::milliseconds;

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : random_(seed) {}
  // Of the standard's distributions nobody says what they make of a seed.
  int between(int least, int most) {
    return least + static_cast<int>(random_() % static_cast<std::uint64_t>(most - least + 1));
  }
  template <class T>
  const T& one_of(const std::vector<T>& all) {
    return all[static_cast<std::size_t>(between(0, static_cast<int>(all.size()) - 1))];
  }

 private:
  std::mt19937_64 random_;
};

// As often as each stands there. Servers are slow to come back: they have their turn, and do not fill the time.
std::vector<Thing> things(int relays) {
  using enum Thing::Kind;
  std::vector<Thing> all;
  for (int i = 0; i < relays; ++i) all.insert(all.end(), 4, {relay, i});
  all.insert(all.end(), 6, {sink_link, 0});
  all.insert(all.end(), 4, {database_link, 0});
  all.insert(all.end(), 2, {broker, 0});
  all.insert(all.end(), 1, {database, 0});
  return all;
}

Fault fault_of(const Thing& thing, Dice& dice) {
  using enum Fault;
  static const std::vector<Fault> of_relay{kill, kill, kill, stop, pause};
  static const std::vector<Fault> of_link{delay, throttle, hold, drop_answers, refuse, cut};
  static const std::vector<Fault> of_broker{crash, freeze};
  switch (thing.kind) {
    case Thing::Kind::relay: return dice.one_of(of_relay);
    case Thing::Kind::sink_link:
    case Thing::Kind::database_link: return dice.one_of(of_link);
    case Thing::Kind::broker: return dice.one_of(of_broker);
    case Thing::Kind::database: return crash;
  }
  return kill;
}

milliseconds lasting(Fault fault, const Scope& scope, Dice& dice) {
  switch (fault) {
    case Fault::kill:
    case Fault::stop: return milliseconds(dice.between(50, 3'000));
    case Fault::pause: return scope.lease * dice.between(30, 200) / 100;
    case Fault::cut: return milliseconds(0);
    case Fault::crash: return milliseconds(dice.between(200, 3'000));
    default: return milliseconds(dice.between(300, 4'000));
  }
}

int amount_of(Fault fault, Dice& dice) {
  if (fault == Fault::delay) return dice.between(5, 300);
  if (fault == Fault::throttle) return dice.between(20, 500);
  return 0;
}

const char* name_of(Fault fault) {
  switch (fault) {
    case Fault::kill: return "kill";
    case Fault::stop: return "stop";
    case Fault::pause: return "pause";
    case Fault::delay: return "delay";
    case Fault::throttle: return "throttle";
    case Fault::hold: return "hold";
    case Fault::drop_answers: return "drop answers";
    case Fault::refuse: return "refuse";
    case Fault::cut: return "cut";
    case Fault::crash: return "kill -9";
    case Fault::freeze: return "freeze";
  }
  return "";
}

}  // namespace

std::vector<Step> make_schedule(std::uint64_t seed, const Scope& scope) {
  Dice dice(seed);
  const std::vector<Thing> all = things(scope.relays);
  std::vector<Step> steps;
  for (milliseconds at(dice.between(500, 1'500)); at < scope.lasts; at += milliseconds(dice.between(50, 1'500))) {
    Step step;
    step.at = at;
    step.thing = dice.one_of(all);
    step.fault = fault_of(step.thing, dice);
    step.until = at + lasting(step.fault, scope, dice);
    step.amount = amount_of(step.fault, dice);
    const auto in_its_way = [&](const Step& other) { return other.thing == step.thing && other.until >= at; };
    if (step.until > scope.lasts || std::ranges::any_of(steps, in_its_way)) continue;
    steps.push_back(step);
  }
  return steps;
}

std::string describe(const Thing& thing) {
  switch (thing.kind) {
    case Thing::Kind::relay: return "relay " + std::to_string(thing.number + 1);
    case Thing::Kind::sink_link: return "way to the sink";
    case Thing::Kind::database_link: return "way to the database";
    case Thing::Kind::broker: return "broker";
    case Thing::Kind::database: return "database";
  }
  return {};
}

std::string describe(const Step& step) {
  const auto seconds = [](milliseconds time) {
    char text[32];
    std::snprintf(text, sizeof text, "%.1f s", static_cast<double>(time.count()) / 1000);
    return std::string(text);
  };
  std::string text = seconds(step.at) + ": " + describe(step.thing) + ": " + name_of(step.fault);
  if (step.fault == Fault::delay) text += " by " + std::to_string(step.amount) + " ms";
  if (step.fault == Fault::throttle) text += " to " + std::to_string(step.amount) + " KB/s";
  return step.until > step.at ? text + ", until " + seconds(step.until) : text;
}

}  // namespace outbox::test
