#include "app/relay_service.h"

#include <algorithm>
#include <set>

#include "app/process_identity.h"
#include "app/views.h"
#include "base/log.h"

namespace outbox::app {

using std::chrono::steady_clock;

namespace {

// The relay counts its lease shorter than the store does, by a part that covers the way of the answer and the time in
// which a client is taken back what it holds.
constexpr int kMarginPart = 4;
constexpr std::chrono::milliseconds kRenewEvery{1000};

}  // namespace

Result<std::unique_ptr<RelayService>> RelayService::start(
    const RelayParts& parts, const std::string& relay, bool once, SinkReporter::LastFailure last_failure,
    std::function<void(const std::vector<StoreStatus>&)> on_status) {
  std::unique_ptr<RelayService> service(new RelayService(parts, relay, once));
  if (auto checked = service->check_sinks(); !checked) return checked.failure();
  // Before anything is published: what is paused stays paused over a restart. Where this fails, the housekeeping asks
  // again, and no share is taken before it was told.
  if (const auto pauses = parts.database.make_store()->pauses()) {
    service->pause_as(*pauses);
  } else if (once) {
    return pauses.failure();
  }
  if (once) {
    service->renew();
    if (service->end_ == RunnerEnd::failed || service->end_ == RunnerEnd::fenced) return service->failure_;
  }
  HousekeepingOptions options;
  options.relay = relay;
  options.feeds = service->factory_.feeds();
  options.retention = {parts.settings.retain, parts.settings.retain_dead, relay};
  auto sinks_json = [raw = service.get(), reporter = std::make_shared<SinkReporter>(),
                     last_failure = std::move(last_failure)] {
    return to_json(reporter->report(raw->view(), last_failure, steady_clock::now()));
  };
  Housekeeping::Hooks hooks{std::move(sinks_json), std::move(on_status),
                            [raw = service.get()](const std::vector<SinkPause>& pauses) { raw->pause_as(pauses); }};
  service->housekeeping_ =
      std::make_unique<Housekeeping>(parts.database.make_store(), std::move(options), std::move(hooks));
  service->thread_ = std::jthread([raw = service.get()](const std::stop_token& stop) { raw->run(stop); });
  return service;
}

RelayService::RelayService(const RelayParts& parts, const std::string& relay, bool once)
    : relay_(relay),
      process_(process_identity()),
      lease_lasts_(parts.settings.lease),
      once_(once),
      factory_(parts),
      leases_(parts.database.make_leases()) {
  if (parts.settings.forward && !once) forwarding_ = std::make_unique<ForwardingRole>(parts, relay_, lease_);
}

RelayService::~RelayService() {
  stop();
  if (thread_.joinable()) {
    thread_.request_stop();
    thread_.join();
  }
  housekeeping_.reset();
}

Result<void> RelayService::check_sinks() {
  for (const Feed& feed : factory_.feeds()) {
    auto divisible = factory_.divisible(feed);
    if (!divisible) return divisible.failure();
    divisible_[feed.name] = *divisible;
  }
  return forwarding_ ? forwarding_->check() : Result<void>();
}

void RelayService::poke() {
  const std::lock_guard lock(mutex_);
  for (Running& each : running_) each.runner->poke();
}

void RelayService::stop() {
  const std::lock_guard lock(mutex_);
  if (stopping_) return;
  stopping_ = true;
  for (Running& each : running_) each.runner->stop();
  if (forwarding_) forwarding_->stop();
  ring();
}

void RelayService::ring() {
  {
    const std::lock_guard lock(bell_mutex_);
    rung_ = true;
  }
  bell_.notify_all();
}

RunnerEnd RelayService::wait_until(steady_clock::time_point deadline) {
  std::unique_lock lock(mutex_);
  ended_.wait_until(lock, deadline, [&] { return end_ != RunnerEnd::running; });
  return end_;
}

Failure RelayService::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

void RelayService::end_with(RunnerEnd end, Failure failure) {
  if (end_ != RunnerEnd::running) return;
  end_ = end;
  failure_ = std::move(failure);
  ended_.notify_all();
}

void RelayService::run(const std::stop_token& stop) {
  auto renew_at = steady_clock::now();
  const auto every = std::min<steady_clock::duration>(kRenewEvery, lease_lasts_ / kMarginPart);
  for (;;) {
    const auto now = steady_clock::now();
    if (now >= renew_at) {
      renew();
      renew_at = now + every;
    }
    std::vector<Gift> gifts;
    bool ends = false;
    {
      const std::lock_guard lock(mutex_);
      gifts = reap();
      if (stopping_ && running_.empty()) end_with(RunnerEnd::stopped);
      ends = end_ != RunnerEnd::running || stop.stop_requested();
    }
    for (const Gift& gift : gifts) give(gift);  // asks the database, for which nobody who holds the mutex waits
    if (ends) break;
    std::unique_lock lock(bell_mutex_);
    bell_.wait_until(lock, stop, renew_at, [this] { return rung_; });
    rung_ = false;
  }
  // Their views are read after the end: they stay.
  for (Running& each : running_) {
    each.runner->stop();
    each.runner->wait_until(steady_clock::now() + std::chrono::hours(1));
  }
  std::unique_ptr<ForwardingRole> forwarding;
  {
    const std::lock_guard lock(mutex_);
    forwarding = std::move(forwarding_);
  }
  forwarding.reset();
  // So that nobody has to wait for the lease to run out.
  if (auto ended = leases_->end(relay_); !ended) {
    log::warn("giving the lease up failed: another relay takes over when it has run out",
              {{"error", ended.failure().what}});
  }
}

void RelayService::renew() {
  std::vector<std::string> feeds;
  for (const Feed& feed : factory_.feeds()) feeds.push_back(feed.name);
  if (forwarding_) feeds.emplace_back(kForwardingFeed);
  const Lease::Clock asked_at = Lease::now();
  const auto roster = leases_->renew(relay_, process_, feeds, lease_lasts_);
  if (!roster) {
    renewal_failed(roster.failure());
    return;
  }
  lease_->renewed(asked_at, lease_lasts_ - lease_lasts_ / kMarginPart);
  if (bury_the_dead(*roster)) return renew();
  const std::lock_guard lock(mutex_);
  database_error_.clear();
  if (stopping_ || !pauses_known_ || end_ != RunnerEnd::running) return;
  once_ ? follow_once(*roster) : follow(*roster);
}

// The lease runs on. Before the first one a relay waits, but for what no waiting mends.
void RelayService::renewal_failed(const Failure& failure) {
  const std::lock_guard lock(mutex_);
  database_error_ = failure.what;
  const bool hopeless = failure.kind == FailureKind::refused || failure.kind == FailureKind::invalid;
  if (lease_->term() == 0 && running_.empty() && (once_ || hopeless)) return end_with(RunnerEnd::failed, failure);
  log::every(std::chrono::seconds(5), "lease", log::Level::warn, "renewing the lease failed",
             {{"error", failure.what}});
}

// A relay of this machine whose process is gone has its lease ended, so that nobody waits for it. True if there was
// one.
bool RelayService::bury_the_dead(const Roster& roster) {
  std::set<std::string> gone;
  for (const LeaseHolder& holder : roster.holders) {
    if (holder.relay != relay_ && process_is_gone(holder.process)) gone.insert(holder.relay);
  }
  for (const std::string& relay : gone) {
    log::info("a relay of this machine is gone: its shares are free", {{"relay", relay}});
    if (auto ended = leases_->end(relay); !ended) {
      log::warn("ending the lease of a dead relay failed", {{"relay", relay}, {"error", ended.failure().what}});
      return false;
    }
  }
  return !gone.empty();
}

void RelayService::follow(const Roster& roster) {
  for (const Feed& feed : factory_.feeds()) {
    std::string& other = owners_[feed.name];
    const std::string before = std::exchange(other, {});
    for (const Share& share : roster.shares) {
      if (share.feed != feed.name) continue;
      if (share.owner == relay_ && find_running(share) == nullptr) start_runner(share);
      if (!share.owner.empty() && share.owner != relay_) other = share.owner;
    }
    for (const SharingMove& move : next_moves(roster, relay_, feed.name, divisible_.at(feed.name))) {
      Running* own = find_running(move.share);
      if (move.kind == SharingMove::Kind::take && own == nullptr) start_runner(move.share);
      if (move.kind == SharingMove::Kind::give && own != nullptr && !own->give_from) {
        log::info("giving a share away",
                  {{"feed", feed.name}, {"lanes", to_string(Lanes{move.from, move.share.lanes.last})}});
        own->give_from = move.from;
        own->runner->stop();
      }
    }
    const bool idle = std::none_of(running_.begin(), running_.end(),
                                   [&](const Running& each) { return each.share.feed == feed.name; });
    if (idle && !other.empty() && before.empty() && !divisible_.at(feed.name)) {
      log::info("standing by: another relay has all of the feed", {{"feed", feed.name}, {"relay", other}});
    }
  }
  if (!forwarding_) return;
  if (auto followed = forwarding_->follow(roster); !followed) end_with(RunnerEnd::failed, followed.failure());
}

// All that is free, at once; nothing is left to a relay that is at work.
void RelayService::follow_once(const Roster& roster) {
  if (once_started_) return;
  bool all_free = true;
  for (const Share& share : roster.shares) {
    const bool ours = divisible_.contains(share.feed);
    if (!ours || share.owner.empty() || share.owner == relay_) continue;
    all_free = false;
    const auto holder = std::find_if(roster.holders.begin(), roster.holders.end(),
                                     [&](const LeaseHolder& each) { return each.relay == share.owner; });
    if (holder != roster.holders.end() && process_is_gone(holder->process)) continue;  // free at the next look
    end_with(RunnerEnd::fenced, {FailureKind::fenced, "the relay " + share.owner +
                                                          " is at work on this outbox: stop it, or let it deliver"});
    return;
  }
  if (!all_free) return;
  once_started_ = true;
  for (const Share& share : roster.shares) {
    if (!divisible_.contains(share.feed)) continue;
    start_runner(share);
    if (end_ != RunnerEnd::running) return;
    running_.back().runner->drain();
  }
}

RelayService::Running* RelayService::find_running(const Share& share) {
  const auto found = std::find_if(running_.begin(), running_.end(), [&](const Running& each) {
    return each.share.feed == share.feed && each.share.lanes == share.lanes;
  });
  return found == running_.end() ? nullptr : &*found;
}

void RelayService::start_runner(const Share& share) {
  const auto feed = std::find_if(factory_.feeds().begin(), factory_.feeds().end(),
                                 [&](const Feed& each) { return each.name == share.feed; });
  if (feed == factory_.feeds().end()) return;
  auto runner = factory_.make(*feed, share.lanes, relay_, lease_, [this] { ring(); });
  if (!runner) return end_with(RunnerEnd::failed, runner.failure());
  for (const auto& [sink, pause] : pauses_) (*runner)->pause(sink, true);
  if (auto started = (*runner)->start(); !started) return end_with(RunnerEnd::failed, started.failure());
  running_.push_back({share, *std::move(runner), std::nullopt});
}

void RelayService::pause_as(const std::vector<SinkPause>& pauses) {
  std::map<std::string, SinkPause> wanted;
  for (const SinkPause& pause : pauses) wanted.emplace(pause.sink, pause);
  const std::lock_guard lock(mutex_);
  const auto tell = [&](const std::string& sink, bool paused) {
    log::info(paused ? "a sink is paused" : "a sink goes on", {{"sink", sink}});
    for (Running& each : running_) each.runner->pause(sink, paused);
  };
  for (const auto& [sink, pause] : wanted) {
    if (!pauses_.contains(sink)) tell(sink, true);
  }
  for (const auto& [sink, pause] : pauses_) {
    if (!wanted.contains(sink)) tell(sink, false);
  }
  if (forwarding_) forwarding_->pause(wanted.contains(forwarding_->sink()));
  pauses_ = std::move(wanted);
  pauses_known_ = true;
}

// Runners that have ended; returns what of their shares is to be given away.
std::vector<RelayService::Gift> RelayService::reap() {
  std::vector<Gift> gifts;
  std::erase_if(running_, [&](Running& each) {
    if (!reap_one(each)) return false;
    if (each.give_from && each.runner->end() != RunnerEnd::fenced) gifts.push_back({each.share, *each.give_from});
    return true;
  });
  if (!once_ || !once_started_ || end_ != RunnerEnd::running || stopping_) return gifts;
  const bool drained = std::all_of(running_.begin(), running_.end(),
                                   [](const Running& each) { return each.runner->end() == RunnerEnd::drained; });
  if (drained) end_with(RunnerEnd::drained);
  return gifts;
}

void RelayService::give(const Gift& gift) {
  if (auto given = leases_->give(relay_, gift.share, gift.from); !given) {
    log::warn("giving a share away failed", {{"feed", gift.share.feed}, {"error", given.failure().what}});
  }
}

// True if it is to be forgotten.
bool RelayService::reap_one(Running& running) {
  const RunnerEnd end = running.runner->end();
  if (end == RunnerEnd::running || end == RunnerEnd::drained) return false;
  if (end == RunnerEnd::failed) {
    end_with(RunnerEnd::failed, running.runner->failure());
    return false;
  }
  if (end == RunnerEnd::fenced) {
    ++leases_lost_;
    log::warn("lost a share: it is another relay's now",
              {{"feed", running.share.feed}, {"why", running.runner->failure().what}});
    if (once_) end_with(RunnerEnd::fenced, running.runner->failure());
    return !once_;
  }
  return true;
}

std::vector<FeedView> RelayService::view() const {
  const std::lock_guard lock(mutex_);
  std::vector<FeedView> views;
  for (const Feed& feed : factory_.feeds()) views.push_back(view_of(feed));
  auto forwarding = forwarding_ ? forwarding_->view() : std::nullopt;
  if (!forwarding) return views;
  hold_if_paused(*forwarding);
  add_forwarding(views, *forwarding);
  return views;
}

FeedView RelayService::view_of(const Feed& feed) const {
  std::vector<FeedView> shares;
  for (const Running& each : running_) {
    if (each.share.feed == feed.name) shares.push_back(each.runner->view());
  }
  const auto owner = owners_.find(feed.name);
  if (shares.empty()) return stand_by_view(feed, owner == owners_.end() ? "" : owner->second, database_error_);
  FeedView view = merged(shares);
  for (SinkView& sink : view.sinks) hold_if_paused(sink);
  return view;
}

void RelayService::hold_if_paused(SinkView& sink) const {
  const auto pause = pauses_.find(sink.name);
  if (pause != pauses_.end()) sink.held_because = to_text(pause->second);
}

int RelayService::lanes_owned() const {
  const std::lock_guard lock(mutex_);
  int lanes = 0;
  for (const Running& each : running_) lanes += each.share.lanes.size();
  return lanes;
}

std::uint64_t RelayService::leases_lost() const {
  const std::lock_guard lock(mutex_);
  return leases_lost_;
}

}  // namespace outbox::app
