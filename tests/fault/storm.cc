#include "fault/storm.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <thread>

#include "support/eventually.h"
#include "support/services.h"

namespace outbox::test {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr auto kCalmsDownIn = 120s;
constexpr auto kListensIn = 10s;
constexpr auto kEndsIn = 30s;
constexpr int kBurst = 500;

// From there on it takes signals; before, SIGTERM ends it like any program.
bool listens(const ChildProcess& relay) {
  return relay.standard_error().find("event=\"admin address open\"") != std::string::npos;
}

}  // namespace

Storm::Storm(Trial& trial, std::uint64_t seed, const Scope& scope)
    : trial_(trial), schedule_(make_schedule(seed, scope)), relays_(static_cast<std::size_t>(scope.relays)) {
  std::printf("seed %llu, %d relays, %zu faults\n", static_cast<unsigned long long>(seed), scope.relays,
              schedule_.size());
  for (const Step& step : schedule_) std::printf("  %s\n", describe(step).c_str());
}

void Storm::pass() {
  for (auto& relay : relays_) relay = trial_.start_relay();
  began_ = Clock::now();
  for (const Event& event : events()) {
    std::this_thread::sleep_until(began_ + event.at);
    look_at_relays();
    happen(event);
  }
  await_broker();
  say("all is healed");
  eventually(kEndsIn, [&] {
    look_at_relays();
    return stopping_.empty();
  });
  calm_down();
  stop_relays();
}

std::vector<Storm::Event> Storm::events() const {
  std::vector<Event> events;
  for (const Step& step : schedule_) {
    events.push_back({step.at, &step, false});
    if (step.until > step.at) events.push_back({step.until, &step, true});
  }
  std::ranges::stable_sort(events, {}, &Event::at);
  return events;
}

void Storm::happen(const Event& event) {
  const Step& step = *event.step;
  switch (step.thing.kind) {
    case Thing::Kind::relay: return event.heals ? heal_relay(step) : harm_relay(step);
    case Thing::Kind::broker:
    case Thing::Kind::database: return event.heals ? heal_server(step) : harm_server(step);
    case Thing::Kind::sink_link:
    case Thing::Kind::database_link: break;
  }
  FaultProxy& link = link_of(step.thing);
  if (!event.heals) return harm_link(link, step);
  if (step.fault == Fault::drop_answers) link.cut();
  link.set({});
}

void Storm::harm_relay(const Step& step) {
  auto& relay = relays_[static_cast<std::size_t>(step.thing.number)];
  if (step.fault == Fault::pause) return relay->signal(SIGSTOP);
  if (step.fault == Fault::stop) {
    eventually(kListensIn, [&] { return listens(*relay) || !relay->running(); });
    return relay->terminate();
  }
  // Something is to be in flight.
  if (!database_away_) trial_.shop().burst(kBurst);
  const auto count = in_flight(*relay);
  relay->kill_and_wait();
  stopping_.erase(step.thing.number);
  say("killed " + describe(step.thing) + ", in flight: " + (count ? std::to_string(*count) : "not known"));
  relay.reset();
}

void Storm::heal_relay(const Step& step) {
  auto& relay = relays_[static_cast<std::size_t>(step.thing.number)];
  if (step.fault == Fault::pause) return relay->signal(SIGCONT);
  // While it is awaited, others heal: one that waits for a mute database ends when it hears that it is away.
  if (step.fault == Fault::stop) {
    stopping_[step.thing.number] = Clock::now() + kEndsIn;
    return look_at_relays();
  }
  relay = trial_.start_relay();
}

void Storm::harm_link(FaultProxy& link, const Step& step) {
  switch (step.fault) {
    case Fault::delay: return link.set({.delay = std::chrono::milliseconds(step.amount)});
    case Fault::throttle: return link.set({.bytes_per_second = step.amount * 1000});
    case Fault::hold: return link.set({.hold = true});
    case Fault::drop_answers: return link.set({.drop_answers = true});
    case Fault::refuse: link.set({.refuse = true}); return link.cut();
    default: return link.cut();
  }
}

// A broker takes seconds; the other faults do not wait for it.
void Storm::harm_server(const Step& step) {
  FarEnd& far_end = trial_.far_end();
  if (step.thing.kind == Thing::Kind::database) {
    database_away_ = true;
    return kill_service(Service::postgresql);
  }
  await_broker();
  if (step.fault == Fault::freeze) return far_end.pause();
  broker_ = std::async(std::launch::async, [&far_end] { far_end.kill(); });
}

void Storm::heal_server(const Step& step) {
  FarEnd& far_end = trial_.far_end();
  if (step.thing.kind == Thing::Kind::database) {
    start_service(Service::postgresql);
    PQreset(trial_.database().connection());
    database_away_ = false;
    return;
  }
  await_broker();
  if (step.fault == Fault::freeze) return far_end.resume();
  broker_ = std::async(std::launch::async, [&far_end] { far_end.start(); });
}

void Storm::await_broker() {
  if (broker_.valid()) broker_.get();
}

void Storm::look_at_relays() {
  for (std::size_t i = 0; i < relays_.size(); ++i) {
    auto& relay = relays_[i];
    if (!relay) continue;
    const auto stopping = stopping_.find(static_cast<int>(i));
    const bool awaited = stopping != stopping_.end();
    const bool overdue = awaited && Clock::now() >= stopping->second;
    if (relay->running() && !overdue) continue;
    const auto ended = relay->wait(0ms);
    const bool well = ended && ended->succeeded();
    if (well && !awaited) continue;  // stopped, and not yet to be started again
    if (!well) {
      const std::string what = awaited ? " did not end by SIGTERM as it should: " : " ended by itself: ";
      faults_.push_back("relay " + std::to_string(i + 1) + what + relay->standard_error());
    }
    if (awaited) stopping_.erase(stopping);
    relay = trial_.start_relay();
  }
}

void Storm::calm_down() {
  trial_.shop().stop();
  const auto committed = static_cast<std::int64_t>(trial_.shop().ledger().size());
  std::int64_t count = 0;
  auto moved = Clock::now();
  const bool calm = eventually(kCalmsDownIn, [&] {
    const std::int64_t before = std::exchange(count, trial_.far_end().count());
    if (count != before) moved = Clock::now();
    const auto dead = static_cast<std::int64_t>(trial_.shop().dead_letters().size());
    return count + dead >= committed && Clock::now() - moved > 3s &&
           trial_.database().value("select count(*) from outbox_delivery where state = 'waiting'") == "0";
  });
  say("arrived " + std::to_string(count) + " of " + std::to_string(committed) + " committed");
  if (!calm) faults_.push_back("not all was delivered after all was healed:\n" + trial_.told(relays_));
}

void Storm::stop_relays() {
  for (const auto& relay : relays_) relay->terminate();
  for (std::size_t i = 0; i < relays_.size(); ++i) {
    const auto ended = relays_[i]->wait(kEndsIn);
    if (ended && ended->succeeded()) continue;
    faults_.push_back("relay " + std::to_string(i + 1) +
                      " did not end by SIGTERM as it should: " + relays_[i]->standard_error());
  }
}

FaultProxy& Storm::link_of(const Thing& thing) {
  return thing.kind == Thing::Kind::sink_link ? trial_.sink_link() : trial_.database_link();
}

void Storm::say(const std::string& what) const {
  const auto since = std::chrono::duration<double>(Clock::now() - began_).count();
  std::printf("%6.1f s: %s\n", since, what.c_str());
  std::fflush(stdout);
}

}  // namespace outbox::test
