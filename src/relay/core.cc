#include "relay/core.h"

#include <algorithm>

#include "relay/core_state.h"
#include "relay/variant.h"

namespace outbox {

namespace {

// Between two questions to the store for due deliveries: while there are some, and when there are none (somebody may
// requeue by hand).
constexpr Duration kDuePace{20ms};
constexpr Duration kDueIdle{1s};
// While there is no use for any, only their count may change.
constexpr Duration kDueHeld{5s};

}  // namespace

Core::State::State(CoreOptions options, std::shared_ptr<const Router> router, std::uint64_t seed)
    : options_(std::move(options)), router_(std::move(router)), random_(seed) {
  for (const CoreSink& sink : options_.sinks) {
    sides_.push_back(std::make_unique<Side>(
        sides_.size(), sink, router_->single_destination(sink.name, sink.capabilities.fields_lead_elsewhere)));
  }
  progress_.keep_settled(!options_.feed.positions);
}

void Core::State::look_at(const Now& now) {
  now_ = std::max(now_, now.steady);
  database_now_ = broken(Variant::clock_not_set_back) ? std::max(database_now_, now.database) : now.database;
}

void Core::State::started(const FeedState& state, const Now& now) {
  look_at(now);
  if (lapsed_) return;  // meanwhile: it is taken over again with the next lease
  if (!(broken(Variant::restart_keeps_memory) && restart_outstanding_)) {
    progress_.restart(state.start);
    for (auto& side : sides_) {
      side->out.restart();
      side->concerns_stream = true;
      side->due_at = now_;
      side->due_answered = false;
    }
    pending_ = {};
    sent_ = {};
    parts_.clear();
    refusals_.clear();
    refusals_at_ = kNeverSteady;
    pending_died_.clear();
    updated_keys_.clear();
    held_ids_.clear();
    marked_ids_.clear();
  }
  sent_failed_ = false;
  page_.reset();
  page_facts_.clear();
  asked_ = Asked::nothing;
  store_at_ = {};
  fetch_outstanding_ = false;
  poked_ = false;
  drained_source_ = false;
  poll_at_ = now_;
  poll_pause_ = options_.poll_busy;
  restart_outstanding_ = false;
  running_ = true;
  decide();
}

void Core::State::fetched(Result<Page> page, const Now& now) {
  look_at(now);
  fetch_outstanding_ = false;
  if (!running_) return;
  if (!page) {
    poll_at_ = now_ + full_jitter(options_.poll_idle, Duration(2s), ++fetch_failures_, random_);
    if (options_.feed.positions) want_restart();
    decide();
    return;
  }
  fetch_failures_ = 0;
  if (!page->full && draining_ && !drained_source_) {
    drained_source_ = true;  // from now on every answer may be the last that is waited for
    for (auto& side : sides_) side->due_at = std::min(side->due_at, now_);
  }
  if (page->records.empty()) {
    poll_pause_ = std::min(std::max(poll_pause_ * 2, options_.poll_busy), options_.poll_idle);
    if (page->window_done) progress_.window_done(page->window);
  } else {
    poll_pause_ = options_.poll_busy;
  }
  const bool read_on = page->full || std::exchange(poked_, false);
  poll_at_ = read_on ? now_ : now_ + poll_pause_;
  if (!page->records.empty()) {
    page_ = std::move(*page);
    page_facts_.clear();
  }
  decide();
}

void Core::State::facts(Result<PageFacts> facts, const Now& now) {
  look_at(now);
  if (!running_) return;
  asked_ = Asked::nothing;
  if (facts) {
    page_facts_.push_back(std::move(*facts));
  } else {
    store_failed(facts.failure());
  }
  decide();
}

// A question could not be answered: it is asked again later, or after a restart where what is in memory cannot be
// trusted.
void Core::State::store_failed(const Failure& failure) {
  store_at_ = now_ + full_jitter(Duration(100ms), Duration(5s), ++settle_failures_, random_);
  if (failure.kind == FailureKind::unavailable && options_.feed.positions) want_restart();
}

void Core::State::due(Result<std::vector<ParkedRun>> runs, const Result<Store::Parking>& parking, const Now& now) {
  look_at(now);
  if (!running_) return;
  asked_ = Asked::nothing;
  Side& side = *sides_[due_side_];
  if (!runs || !parking) {
    side.due_at = now_ + kDueIdle;
    store_failed(runs ? parking.failure() : runs.failure());
    decide();
    return;
  }
  side.parked = parking->counts;
  const auto count_unwritten = [&](const SettleBatch& batch) {
    for (const Park& park : batch.parks) {
      if (park.sink == side.options.name) count_park(side.parked, park);
    }
  };
  count_unwritten(pending_);
  for (const Refusal& refusal : refusals_) count_unwritten(refusal.what.batch);
  side.next_due = parking->next_due;
  side.concerns_stream = parking->counts.concerns_stream || side.parked_since_due;
  side.parked_since_due = false;
  side.due_answered = true;
  side.due_at =
      std::min(now_ + (drained_source_ ? kDuePace : kDueIdle), std::max(steady(parking->next_due), now_ + kDuePace));
  if (side.counted_only) side.due_at = now_ + kDueHeld;
  for (ParkedRun& run : *runs) load_run(side, std::move(run));
  decide();
}

void Core::State::settled(const Result<void>& result, const Now& now) {
  look_at(now);
  if (!running_) return;
  asked_ = Asked::nothing;
  if (result) {
    settle_failures_ = 0;
    sent_failed_ = false;
    written(std::exchange(sent_, {}));
    if (parts_.empty() && refusals_.empty()) refusal_tries_ = 0;
  } else if (result.failure().kind == FailureKind::fenced) {
    fenced_ = true;
  } else if (result.failure().kind == FailureKind::unavailable && options_.feed.positions) {
    want_restart();
  } else if (result.failure().kind != FailureKind::invalid || !take_apart(result.failure())) {
    sent_failed_ = true;
    settle_at_ = now_ + full_jitter(Duration(100ms), Duration(5s), ++settle_failures_, random_);
  }
  decide();
}

void Core::State::written(Unwritten done) {
  for (const RecordPtr& record : done.batch.settled) marked_ids_.push_back(record->id);
  for (const Park& park : done.batch.parks) {
    Side& side = *side_of(park.sink);
    if (blocks_key(park)) {
      Line& line = side.out.line(park.record->key);
      --line.parks_pending;
      side.out.wake(line);
    }
    side.concerns_stream = true;
    side.parked_since_due = true;  // what was asked before this was written does not count it
    if (park.state == DeliveryState::waiting) side.due_at = std::min(side.due_at, steady(park.next_attempt));
  }
  for (Commands::Died& died : done.died) {
    Side& side = *sides_[died.sink];
    Line& line = side.out.line(died.record->key);
    --line.deaths_pending;
    side.out.wake(line);
    commands_.died.push_back(std::move(died));
  }
}

void Core::State::completed(std::size_t sink, const std::vector<Completion>& completions, const Now& now) {
  look_at(now);
  Side& side = *sides_[sink];
  for (const Completion& each : completions) {
    if (each.outcome.verdict == Verdict::client_dead) side.out.client_down = true;
    Delivery* delivery = side.out.find(each.id);
    if (delivery != nullptr) outcome(side, *delivery, each.outcome);
  }
  // What has not come back yet comes back at the latest while the client is reopened.
  if (side.out.client_down && side.reopen_at == kNeverSteady && !side.reopen_outstanding) {
    ++side.deaths;
    side.reopen_at = side.deaths == 1
                         ? now_
                         : now_ + full_jitter(side.options.retry.base, side.options.retry.cap, side.deaths, random_);
  }
  decide();
}

void Core::State::reopened(std::size_t sink, const Result<void>& result, const Now& now) {
  look_at(now);
  Side& side = *sides_[sink];
  side.reopen_outstanding = false;
  if (result) {
    side.out.client_down = false;
  } else {
    side.last_error = result.failure().what;
    side.reopen_at = now_ + full_jitter(side.options.retry.base, side.options.retry.cap, ++side.deaths, random_);
  }
  decide();
}

void Core::State::tick(const Now& now) {
  look_at(now);
  decide();
}

void Core::State::lapsed(const Now& now) {
  look_at(now);
  if (lapsed_ || broken(Variant::lapse_ignored)) return;
  lapsed_ = true;
  for (auto& side : sides_) {
    if (side->out.in_flight() == 0 || side->reopen_outstanding || broken(Variant::lapse_leaves_client)) continue;
    side->out.client_down = true;
    side->reopen_at = now_;
  }
  // Also where the first take-over is still outstanding: its answer comes too late.
  if (!broken(Variant::lapse_keeps_share)) {
    running_ = false;
    restart_outstanding_ = true;
  }
  decide();
}

void Core::State::leased(const Now& now) {
  look_at(now);
  if (!std::exchange(lapsed_, false)) return;
  commands_.restart = restart_outstanding_;
  decide();
}

void Core::State::pause(std::size_t sink, bool paused, const Now& now) {
  sides_[sink]->paused = paused;
  tick(now);
}

void Core::State::poke(const Now& now) {
  look_at(now);
  poked_ = fetch_outstanding_;
  poll_pause_ = options_.poll_busy;
  if (fetch_failures_ == 0) poll_at_ = now_;
  decide();
}

void Core::State::stop(const Now& now) {
  stopping_ = true;
  tick(now);
}

void Core::State::drain(const Now& now) {
  draining_ = true;
  tick(now);
}

Core::State::Side* Core::State::side_of(const std::string& sink) {
  const auto found =
      std::find_if(sides_.begin(), sides_.end(), [&](const auto& side) { return side->options.name == sink; });
  OUTBOX_ASSERT(found != sides_.end());
  return found->get();
}

std::vector<SinkView> Core::State::view() const {
  std::vector<SinkView> views;
  for (const auto& side : sides_) {
    SinkView view;
    view.name = side->options.name;
    view.breaker = side->out.breaker().state_at(now_);
    view.breaker_reason = side->breaker_reason;
    const Outbound::Held held = side->out.held_destinations(now_);
    view.held_destinations = held.count;
    view.held_destination_reason = held.reason;
    view.in_flight = side->out.in_flight();
    view.queued = side->out.size();
    view.parked = side->parked;
    view.delivered = side->delivered;
    view.retried = side->retried;
    view.died = side->died;
    view.last_error = side->last_error;
    view.last_delivery = side->last_delivery;
    view.at_cap = at_cap(*side);
    if (!running_) {
      view.held_because = lapsed_                ? "the lease has run out"
                          : restart_outstanding_ ? "the database is out of reach"
                                                 : "starting";
    } else if (side->paused) {
      view.held_because = "paused";
    } else if (view.at_cap) {
      view.held_because = "parked deliveries are at their cap";
    } else if (side->out.client_down) {
      view.held_because = "the client is being rebuilt";
    } else if (view.breaker != BreakerState::closed) {
      view.held_because = "the breaker is " + std::string(to_string(view.breaker)) + ": " + side->breaker_reason;
    } else if (side->out.breaker().closed_until() > now_) {
      view.held_because = "the far side asked to wait: " + side->breaker_reason;
    } else if (held.count > 0 && held.count == held.of) {
      view.held_because = "each destination that it has messages for takes none: " + held.reason;
    }
    views.push_back(std::move(view));
  }
  for (SinkView& view : views) {
    if (view.held_because.empty()) view.held_because = refusal();
  }
  // They are read together.
  const auto capped = std::find_if(views.begin(), views.end(), [](const SinkView& view) { return view.at_cap; });
  for (SinkView& view : views) {
    if (capped == views.end() || !view.held_because.empty()) continue;
    view.held_because = "the parked deliveries of sink " + capped->name + " are at their cap";
  }
  return views;
}

Core::Core(CoreOptions options, std::shared_ptr<const Router> router, std::uint64_t seed)
    : state_(std::make_unique<State>(std::move(options), std::move(router), seed)) {}
Core::~Core() = default;

void Core::started(const FeedState& state, const Now& now) { state_->started(state, now); }
void Core::fetched(Result<Page> page, const Now& now) { state_->fetched(std::move(page), now); }
void Core::facts(Result<PageFacts> facts, const Now& now) { state_->facts(std::move(facts), now); }
void Core::due(Result<std::vector<ParkedRun>> runs, const Result<Store::Parking>& parking, const Now& now) {
  state_->due(std::move(runs), parking, now);
}
void Core::settled(const Result<void>& result, const Now& now) { state_->settled(result, now); }
void Core::completed(std::size_t sink, const std::vector<Completion>& completions, const Now& now) {
  state_->completed(sink, completions, now);
}
void Core::reopened(std::size_t sink, const Result<void>& result, const Now& now) {
  state_->reopened(sink, result, now);
}

void Core::tick(const Now& now) { state_->tick(now); }
void Core::lapsed(const Now& now) { state_->lapsed(now); }
void Core::leased(const Now& now) { state_->leased(now); }
void Core::pause(std::size_t sink, bool paused, const Now& now) { state_->pause(sink, paused, now); }
void Core::poke(const Now& now) { state_->poke(now); }
void Core::stop(const Now& now) { state_->stop(now); }
void Core::drain(const Now& now) { state_->drain(now); }
Commands Core::take() { return state_->take(); }
bool Core::fenced() const { return state_->fenced(); }
std::string Core::refusal() const { return state_->refusal(); }
std::vector<SinkView> Core::view() const { return state_->view(); }

}  // namespace outbox
