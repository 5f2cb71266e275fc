#include "process.h"

#include <algorithm>

#include "relay/sharing.h"

namespace outbox::sim {

namespace {
// As app/relay_service counts it: what covers the way of an answer, and taking back what a client holds.
constexpr int kMarginPart = 4;
constexpr Duration kRenewEvery{1s};
constexpr Duration kUptimeMax{7200s};
}  // namespace

Process::Process(Relay::World world, int number)
    : world_(world),
      number_(number),
      name_(fmt::format("R{}", number)),
      uptime_(world.dice.between(Duration(0), kUptimeMax)) {}

void Process::start() {
  world_.trace("{}      starts", name_);
  keep_lease();
}

void Process::event(std::function<void()> event) {
  if (!running()) return;
  if (world_.loop.now() < awake_at()) {
    world_.loop.at(awake_at(), [this, event = std::move(event)]() mutable { this->event(std::move(event)); });
    return;
  }
  event();
}

void Process::call(std::function<void()> effect, std::function<void(bool answered)> answer) {
  auto& dice = world_.dice;
  const bool fails = dice.chance(world_.faults.renewal_fails);
  const bool in_doubt = dice.chance(world_.faults.renewal_in_doubt);
  Time when = std::max(world_.loop.now(), keeper_free_) + dice.between(Duration(10), world_.scenario.delay_max);
  if (dice.chance(world_.faults.renewal_late)) when += dice.between(Duration(100ms), Duration(2s));
  keeper_free_ = when + dice.between(Duration(10), world_.scenario.delay_max);
  auto answered = std::make_shared<bool>(!fails && !in_doubt);
  world_.loop.at(when, [this, answered, fails, effect = std::move(effect)] {
    if (world_.store_down || !alive_ || calls_are_held()) *answered = false;
    if (!fails && !world_.store_down && alive_ && !calls_are_held()) effect();
  });
  world_.loop.at(keeper_free_,
                 [this, answered, answer = std::move(answer)] { event([answered, answer] { answer(*answered); }); });
}

// One thing after the other: what a renewal says of its shares is not older than what it gave away before.
void Process::keep_lease() {
  if (!running() || ending_) return;
  const Duration lasts = world_.scenario.lease;
  const Time next = world_.loop.now() + std::min(kRenewEvery, lasts / kMarginPart);
  const SteadyTime asked_at = local_now();
  renewing_ = true;
  auto roster = std::make_shared<Roster>();
  call([this, roster,
        lasts] { *roster = *world_.leases.renew(name_, name_, {world_.scenario.options.feed.name}, lasts); },
       [this, roster, asked_at, next](bool answered) {
         if (answered) {
           renewed(asked_at, *roster);
         } else {
           world_.trace("lease   {}: no answer", name_);
         }
         renewing_ = false;
         reap();
         world_.loop.at(next, [this] { event([this] { keep_lease(); }); });
       });
}

void Process::renewed(SteadyTime asked_at, const Roster& roster) {
  const Duration lasts = world_.scenario.lease;
  if (asked_at >= until_) ++term_;
  until_ = world_.scenario.mode == Mode::cursor ? kNeverSteady : asked_at + lasts - lasts / kMarginPart;
  if (until_ != kNeverSteady) {
    world_.loop.after(std::max(Duration(0), until_ - local_now()), [this] { event([this] { look_at_lease(); }); });
  }
  look_at_lease();
  if (!leaving_ && !draining_ && !ending_) follow(roster);
}

void Process::look_at_lease() {
  for (Relay* relay : relays()) relay->look_at_lease();
}

void Process::follow(const Roster& roster) {
  for (const Share& share : roster.shares) {
    if (share.owner == name_ && running(share) == nullptr) start_relay(share);
  }
  const bool divisible = world_.scenario.mode == Mode::snapshot;
  for (const SharingMove& move : next_moves(roster, name_, world_.scenario.options.feed.name, divisible)) {
    Running* own = running(move.share);
    if (move.kind == SharingMove::Kind::take && own == nullptr) start_relay(move.share);
    if (move.kind == SharingMove::Kind::give && own != nullptr && !own->give_from) {
      world_.trace("{}      is to give {}-{} of {} away", name_, move.from, move.share.lanes.last,
                   to_string(move.share.lanes));
      own->give_from = move.from;
      own->relay->stop();
    }
  }
}

void Process::start_relay(const Share& share) {
  const int number = number_ * 1000 + static_cast<int>(running_.size());
  running_.push_back({share, std::make_unique<Relay>(world_, *this, share.lanes, number), std::nullopt});
  running_.back().relay->start();
}

Process::Running* Process::running(const Share& share) {
  const auto found = std::find_if(running_.begin(), running_.end(),
                                  [&](const Running& each) { return !each.reaped && each.share.lanes == share.lanes; });
  return found == running_.end() ? nullptr : &*found;
}

void Process::reap() {
  if (renewing_) return;
  for (std::size_t i = 0; i < running_.size(); ++i) {
    Running& each = running_[i];
    if (each.reaped || !each.relay->joined()) continue;
    each.reaped = true;
    if (each.relay->fenced()) {
      world_.trace("{}      lost the lanes {}", name_, to_string(each.share.lanes));
    } else if (each.give_from) {
      give(each.share, *each.give_from);
    }
  }
  if ((leaving_ || draining_) && relays().empty() && !std::exchange(ending_, true)) end();
}

void Process::give(const Share& share, int from) {
  call([this, share, from] { (void)world_.leases.give(name_, share, from); }, [](bool) {});
}

// So that nobody has to wait for the lease to run out. What that call was to bring does not come: it runs out.
void Process::end() {
  call([this] { (void)world_.leases.end(name_); },
       [this](bool) {
         // A lock ends with its process.
         if (world_.scenario.mode == Mode::cursor) (void)world_.leases.end(name_);
         world_.trace("{}      has left", name_);
         ended_ = true;
       });
}

void Process::crash() {
  world_.trace("{}      CRASHES with {} in flight", name_, in_flight());
  alive_ = false;
  for (const auto& each : running_) each.relay->crash();
  // On the same machine somebody finds the process gone.
  const bool found = world_.scenario.mode == Mode::cursor || world_.dice.chance(0.5);
  if (found) {
    world_.loop.after(world_.dice.between(Duration(0), Duration(1s)), [this] { (void)world_.leases.end(name_); });
  }
}

void Process::stop_for(Duration duration) {
  if (world_.loop.now() < awake_at()) return;
  world_.trace("{}      is stopped for {} ms", name_, duration.count() / 1000);
  calls_held_ = world_.dice.chance(0.5);
  stopped_until_ = world_.loop.now() + duration;
  for (Relay* relay : relays()) relay->stopped();
}

void Process::leave() {
  event([this] {
    world_.trace("{}      is told to stop", name_);
    leaving_ = true;
    for (Relay* relay : relays()) relay->stop();
    reap();
  });
}

void Process::drain() {
  event([this] {
    world_.trace("{}      is told to drain", name_);
    draining_ = true;
    for (Relay* relay : relays()) relay->drain();
    reap();
  });
}

void Process::pause(std::size_t sink, bool paused) {
  event([this, sink, paused] {
    paused ? (void)paused_.insert(sink) : (void)paused_.erase(sink);
    for (Relay* relay : relays()) relay->pause(sink, paused);
  });
}

void Process::kill_client(std::size_t sink) {
  for (Relay* relay : relays()) relay->kill_client(sink);
}

void Process::relay_ended(Time joined_at) {
  world_.loop.at(joined_at, [this] { event([this] { reap(); }); });
}

std::size_t Process::in_flight() const {
  std::size_t sum = 0;
  for (const Relay* relay : relays()) sum += relay->in_flight();
  return sum;
}

std::vector<Relay*> Process::relays() const {
  std::vector<Relay*> all;
  for (const auto& each : running_) {
    if (!each.relay->finished()) all.push_back(each.relay.get());
  }
  return all;
}

std::string Process::state() const {
  std::string text = fmt::format("{}, term {}", name_, term());
  for (const Relay* relay : relays()) text += " " + relay->state();
  return text;
}

}  // namespace outbox::sim
