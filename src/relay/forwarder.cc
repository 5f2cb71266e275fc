#include "relay/forwarder.h"

#include <algorithm>

#include "base/log.h"

namespace outbox {

namespace {

constexpr std::size_t kPageRows = 100;
constexpr std::size_t kPageBytes = 4u << 20;
constexpr std::chrono::seconds kCountEvery{5};
constexpr std::chrono::milliseconds kLeaseLook{250};

}  // namespace

Forwarder::Forwarder(std::unique_ptr<ForwardingStore> store, std::unique_ptr<Sink> sink, ForwarderOptions options,
                     Hooks hooks)
    : store_(std::move(store)),
      sink_(std::move(sink)),
      options_(std::move(options)),
      hooks_(std::move(hooks)),
      core_(options_.route, sink_->capabilities(), options_.retry, options_.seed),
      random_(options_.seed) {
  view_.name = options_.sink;
}

Forwarder::~Forwarder() { stop(); }

Result<void> Forwarder::start() {
  if (auto opened = sink_->open(*this); !opened) return opened.failure();
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
  return {};
}

void Forwarder::stop() { thread_.request_stop(); }

void Forwarder::pause(bool paused) {
  {
    const std::lock_guard lock(mutex_);
    paused_ = paused;
  }
  changed_.notify_all();
}

RunnerEnd Forwarder::end() const {
  const std::lock_guard lock(mutex_);
  return end_;
}

Failure Forwarder::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

SinkView Forwarder::view() const {
  const std::lock_guard lock(mutex_);
  SinkView view = view_;
  view.in_flight = outstanding_;
  if (paused_) view.held_because = "paused";
  return view;
}

void Forwarder::completed(std::vector<Completion> completions) {
  {
    const std::lock_guard lock(mutex_);
    for (Completion& each : completions) {
      const auto index = static_cast<std::size_t>(each.id - next_id_);
      OUTBOX_ASSERT(each.id >= next_id_ && index < outcomes_.size() && !outcomes_[index]);
      outcomes_[index] = std::move(each.outcome);
      --outstanding_;
    }
  }
  changed_.notify_all();
}

void Forwarder::run(const std::stop_token& stop) {
  while (!stop.stop_requested() && end() == RunnerEnd::running) {
    {
      std::unique_lock lock(mutex_);
      if (!changed_.wait(lock, stop, [this] { return !paused_; })) break;
    }
    if (!owned(stop) || !reopened(stop)) continue;
    const Duration pause = round(stop);
    report_left();
    sleep(pause, stop);
  }
  sink_->close();
  hooks_.on_left(0);
  end_with(RunnerEnd::stopped);
}

bool Forwarder::lease_holds() const { return options_.lease == nullptr || options_.lease->term() == term_; }

// Takes the forwarding over if it is not this relay's already, or was not without a break.
bool Forwarder::owned(const std::stop_token& stop) {
  if (epoch_ != 0 && lease_holds()) return true;
  epoch_ = 0;
  term_ = options_.lease ? options_.lease->term() : 0;
  if (options_.lease && term_ == 0) {
    sleep(kLeaseLook, stop);
    return false;
  }
  const auto epoch = store_->take_over(options_.relay);
  if (epoch) {
    epoch_ = *epoch;
    database_failures_ = 0;
    log::info("forwarding dead letters", {{"sink", options_.sink}});
    return true;
  }
  switch (epoch.failure().kind) {
    case FailureKind::fenced: end_with(RunnerEnd::fenced, epoch.failure()); break;
    case FailureKind::refused:
    case FailureKind::invalid: end_with(RunnerEnd::failed, epoch.failure()); break;
    default: sleep(database_failed(epoch.failure()), stop);
  }
  return false;
}

// Once through all that is not forwarded yet; returns when to look again.
Duration Forwarder::round(const std::stop_token& stop) {
  core_.begin_round();
  DeathPlace after;
  while (!stop.stop_requested() && !core_.round_is_over()) {
    auto page = store_->next(after, kPageRows, kPageBytes);
    if (!page) return database_failed(page.failure());
    if (page->empty()) break;
    after = page->back().place;
    auto sent = send(*std::move(page), stop);
    if (!sent && sent.failure().kind == FailureKind::fenced) {
      epoch_ = 0;
      end_with(RunnerEnd::fenced, sent.failure());
      return Duration(0);
    }
    if (!sent) return database_failed(sent.failure());
    if (epoch_ == 0 || reopen_due_) return Duration(0);
  }
  database_failures_ = 0;
  const Duration pause = core_.end_round();
  judge_sink(pause > Duration(0));
  return pause > Duration(0) ? pause : options_.look_every;
}

// Wave after wave, each remembered before the next.
Result<void> Forwarder::send(std::vector<DeadLetter> page, const std::stop_token& stop) {
  while (!page.empty() && !core_.round_is_over() && !stop.stop_requested()) {
    const auto wave = core_.next_wave(page);
    if (wave.empty()) break;
    if (!lease_holds()) {
      epoch_ = 0;
      return {};
    }
    const auto outcomes = publish(wave, stop);
    const auto forwarded = core_.judge(wave, outcomes);
    account(wave, outcomes);
    // Under the old epoch, also when the lease has run out meanwhile: nobody else has them marked then.
    if (!forwarded.empty()) {
      if (auto marked = store_->mark(epoch_, forwarded); !marked) return marked;
    }
    for (const Forwarded& each : forwarded) report(each, wave);
    if (!lease_holds()) {
      epoch_ = 0;
      return {};
    }
    const bool client_dead = std::any_of(outcomes.begin(), outcomes.end(),
                                         [](const Outcome& each) { return each.verdict == Verdict::client_dead; });
    if (client_dead && !stop.stop_requested()) reopen();
    if (reopen_due_) return {};
  }
  return {};
}

void Forwarder::report(const Forwarded& forwarded, const std::vector<ForwardingCore::Copy>& wave) {
  hooks_.on_forwarded(forwarded);
  if (forwarded.refusal.empty()) return;
  const auto copy =
      std::find_if(wave.begin(), wave.end(), [&](const auto& each) { return each.dead.place.row == forwarded.row; });
  log::warn("the copy of a dead letter was refused: it is not forwarded",
            {{"id", copy->record->id}, {"sink", options_.sink}, {"why", forwarded.refusal}});
}

void Forwarder::account(const std::vector<ForwardingCore::Copy>& wave, const std::vector<Outcome>& outcomes) {
  for (std::size_t i = 0; i < wave.size(); ++i) {
    if (!wave[i].outcome) hooks_.on_attempted(outcomes[i].verdict);
    const std::lock_guard lock(mutex_);
    if (outcomes[i].verdict == Verdict::delivered) {
      ++view_.delivered;
      view_.last_delivery = std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now());
    } else {
      view_.last_error = outcomes[i].reason + ": " + outcomes[i].detail;
    }
  }
  if (core_.away()) judge_sink(true);
}

// `failing`: copies wait because of the sink.
void Forwarder::judge_sink(bool failing) {
  const auto breaker = failing && core_.away() ? BreakerState::open : BreakerState::closed;
  bool changed = false;
  {
    const std::lock_guard lock(mutex_);
    changed = std::exchange(view_.breaker, breaker) != breaker;
    view_.breaker_reason = core_.last_failure();
  }
  if (changed) hooks_.on_breaker(breaker);
  if (!failing) {
    if (notice_.well()) log::info("copies of dead letters wait no more", {{"sink", options_.sink}});
  } else if (notice_.ill(std::chrono::time_point_cast<Duration>(Clock::now()))) {
    log::warn("copies of dead letters wait: their sink does not take them",
              {{"sink", options_.sink}, {"error", core_.last_failure()}});
  }
}

void Forwarder::reopen() {
  const auto result = sink_->reopen();
  reopen_due_ = !result;
  if (result) {
    reopen_failures_ = 0;
    return;
  }
  log::every(std::chrono::seconds(30), "forwarding", log::Level::warn, "reopening the sink of dead letters failed",
             {{"sink", options_.sink}, {"error", result.failure().what}});
}

// Nothing is sent before.
bool Forwarder::reopened(const std::stop_token& stop) {
  if (!reopen_due_) return true;
  reopen();
  if (reopen_due_) sleep(full_jitter(options_.retry.base, options_.retry.cap, ++reopen_failures_, random_), stop);
  return !reopen_due_;
}

std::vector<Outcome> Forwarder::publish(const std::vector<ForwardingCore::Copy>& wave, const std::stop_token& stop) {
  std::vector<Publication> publications;
  {
    const std::lock_guard lock(mutex_);
    next_id_ += outcomes_.size();
    outcomes_.assign(wave.size(), std::nullopt);
    for (std::size_t i = 0; i < wave.size(); ++i) {
      outcomes_[i] = wave[i].outcome;
      if (!wave[i].outcome) publications.push_back({next_id_ + i, wave[i].record, wave[i].destination, 1, true});
    }
    outstanding_ = publications.size();
  }
  if (!publications.empty()) {
    sink_->publish(publications);
    // What the client still holds must not go out later: another relay may forward by then.
    if (!await_outcomes(stop)) reopen();
  }
  const std::lock_guard lock(mutex_);
  std::vector<Outcome> outcomes;
  for (std::size_t i = 0; i < wave.size(); ++i) {
    outcomes.push_back(outcomes_[i].value_or(unknown("no_answer", "the sink was closed before it answered")));
  }
  return outcomes;
}

// False: the lease has run out, or the time to stop is over.
bool Forwarder::await_outcomes(const std::stop_token& stop) {
  std::optional<Clock::time_point> give_up_at;
  std::unique_lock lock(mutex_);
  const auto all_there = [this] { return outstanding_ == 0; };
  while (!all_there()) {
    const auto now = Clock::now();
    if (stop.stop_requested() && !give_up_at) give_up_at = now + options_.drain_timeout;
    if (!lease_holds() || (give_up_at && now >= *give_up_at)) return false;
    auto until = give_up_at.value_or(Clock::time_point::max());
    if (options_.lease) until = std::min(until, now + options_.lease->left());
    if (give_up_at) {
      changed_.wait_until(lock, until, all_there);
    } else {
      changed_.wait_until(lock, stop, until, all_there);
    }
  }
  return true;
}

Duration Forwarder::database_failed(const Failure& failure) {
  log::every(std::chrono::seconds(30), "forwarding", log::Level::warn, "reading or marking dead letters failed",
             {{"sink", options_.sink}, {"error", failure.what}});
  return full_jitter(1s, 30s, ++database_failures_, random_);
}

void Forwarder::report_left() {
  const auto now = Clock::now();
  if (epoch_ == 0 || now < count_left_at_) return;
  count_left_at_ = now + kCountEvery;
  if (const auto left = store_->left()) hooks_.on_left(*left);
}

void Forwarder::sleep(Duration duration, const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, stop, duration, [] { return false; });
}

void Forwarder::end_with(RunnerEnd end, Failure failure) {
  const std::lock_guard lock(mutex_);
  if (end_ != RunnerEnd::running) return;
  end_ = end;
  failure_ = std::move(failure);
}

}  // namespace outbox
