#include "relay/runner.h"

#include <algorithm>
#include <utility>

#include "base/log.h"

namespace outbox {

using std::chrono::steady_clock;

namespace {

constexpr auto kViewInterval = std::chrono::milliseconds(100);
constexpr Duration kLongestWait{1s};  // the view is renewed at least this often

Duration since(steady_clock::time_point start) {
  return std::chrono::duration_cast<Duration>(steady_clock::now() - start);
}

SteadyTime steady_now() { return std::chrono::time_point_cast<Duration>(steady_clock::now()); }

}  // namespace

class Runner::Port : public CompletionListener {
 public:
  Port(EventQueue<Event>& events, std::size_t sink) : events_(events), sink_(sink) {}
  void completed(std::vector<Completion> completions) override {
    events_.push(Completed{sink_, std::move(completions)});
  }

 private:
  EventQueue<Event>& events_;
  std::size_t sink_;
};

Runner::Runner(const CoreOptions& core, std::shared_ptr<const Router> router, FeedParts parts, RunnerOptions options,
               RelayObserver& observer)
    : options_(core),
      runner_options_(std::move(options)),
      observer_(observer),
      parts_(std::move(parts)),
      core_(std::make_unique<Core>(core, std::move(router), runner_options_.seed)),
      breakers_(parts_.sinks.size(), BreakerState::closed),
      capped_(parts_.sinks.size(), false),
      random_(runner_options_.seed) {
  clock_offset_ = std::chrono::duration_cast<Duration>(std::chrono::system_clock::now().time_since_epoch()) -
                  steady_now().time_since_epoch();
}

Runner::~Runner() {
  stop();
  if (thread_.joinable()) thread_.join();
}

Result<void> Runner::start() {
  for (std::size_t i = 0; i < parts_.sinks.size(); ++i) {
    ports_.push_back(std::make_unique<Port>(events_, i));
    if (auto opened = parts_.sinks[i]->open(*ports_.back()); !opened) {
      for (std::size_t before = 0; before < i; ++before) parts_.sinks[before]->close();
      return opened.failure();
    }
  }
  source_worker_ = std::make_unique<Worker>("source");
  store_worker_ = std::make_unique<Worker>("store");
  publish_view(true);
  // The answer that brought the lease may have come too late to hold.
  if (runner_options_.lease) {
    term_ = runner_options_.lease->term();
    if (term_ == 0) core_->lapsed(now());
  }
  take_over();
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
  return {};
}

void Runner::stop() { events_.push(Stop{}); }
void Runner::pause(const std::string& sink, bool paused) {
  for (std::size_t i = 0; i < options_.sinks.size(); ++i) {
    if (options_.sinks[i].name == sink) events_.push(Pause{i, paused});
  }
}
void Runner::poke() { events_.push(Poke{}); }
void Runner::drain() { events_.push(Drain{}); }

RunnerEnd Runner::wait_until(steady_clock::time_point deadline) {
  std::unique_lock lock(mutex_);
  ended_.wait_until(lock, deadline, [&] { return end_ != RunnerEnd::running; });
  return end_;
}

RunnerEnd Runner::end() const {
  const std::lock_guard lock(mutex_);
  return end_;
}

Failure Runner::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

FeedView Runner::view() const {
  const std::lock_guard lock(mutex_);
  return view_;
}

Now Runner::now() const {
  const SteadyTime steady = steady_now();
  return {steady, Time(steady.time_since_epoch() + clock_offset_)};
}

void Runner::set_clock(Time database_now) {
  clock_offset_ = database_now.time_since_epoch() - steady_now().time_since_epoch();
}

void Runner::run(const std::stop_token&) {
  SteadyTime wake_at = kNeverSteady;
  while (ending_ == RunnerEnd::running) {
    steady_clock::time_point deadline = std::min({steady_now() + kLongestWait, wake_at, retry_take_over_at_});
    if (stop_deadline_ && !gave_up_) deadline = std::min(deadline, *stop_deadline_);
    if (term_ != 0) deadline = std::min(deadline, steady_clock::now() + runner_options_.lease->left());
    std::vector<Event> events = events_.take(deadline);
    watch_lease();
    for (Event& event : events) handle(event);
    if (events.empty()) core_->tick(now());
    if (steady_now() >= retry_take_over_at_) take_over();
    Commands commands = core_->take();
    wake_at = commands.wake_at;
    const bool done = commands.finished;
    carry_out(std::move(commands));
    publish_view(false);
    if (stop_deadline_ && !gave_up_ && steady_clock::now() >= *stop_deadline_) give_up_in_flight();
    if (core_->fenced()) {
      end_with(RunnerEnd::fenced,
               {FailureKind::fenced, "another relay has taken it over; this one settles nothing of it any more"});
    } else if (done) {
      end_with(stop_deadline_ ? RunnerEnd::stopped : RunnerEnd::drained);
    } else if (stop_deadline_ && steady_clock::now() >= *stop_deadline_ + std::chrono::seconds(2)) {
      end_with(RunnerEnd::stopped);
    }
  }
  store_worker_.reset();  // first: its jobs may post to the source's worker
  source_worker_.reset();
  for (auto& sink : parts_.sinks) sink->close();
  announce_end();
}

// First of all on waking: the process may have been stopped for any time.
void Runner::watch_lease() {
  if (!runner_options_.lease) return;
  const std::uint64_t term = runner_options_.lease->term();
  if (term == term_) return;
  if (term_ != 0) {
    log::warn("the lease has run out: nothing is published until it is renewed", {{"feed", options_.feed.name}});
    reading_ = false;
    core_->lapsed(now());
  }
  // An answer that is on its way belongs to the lease that is over: another relay may have had the share since.
  ++take_overs_;
  retry_take_over_at_ = kNeverSteady;
  term_ = term;
  if (term_ != 0) core_->leased(now());
}

void Runner::handle(Event& event) {
  std::visit([this](auto& each) { on(each); }, event);
}

void Runner::on(Fetched& event) {
  if (event.page) {
    if (event.page->database_now != Time{}) set_clock(event.page->database_now);
    last_poll_ = now().database;
    observer_.polled(event.took);
    if (!options_.feed.positions) {  // read on without another take-over
      reading_ = true;
      database_error_.clear();
    }
  } else {
    reading_ = false;
    database_error_ = event.page.failure().what;
    log::every(std::chrono::seconds(1), "fetch:" + options_.feed.name, log::Level::warn, "reading the outbox failed",
               {{"feed", options_.feed.name}, {"error", event.page.failure().what}});
  }
  core_->fetched(std::move(event.page), now());
}

void Runner::on(Facts& event) { core_->facts(std::move(event.facts), now()); }

void Runner::on(DueAnswer& event) { core_->due(std::move(event.runs), event.parking, now()); }

void Runner::on(Settled& event) {
  if (event.result) {
    settle_error_.clear();
  } else {
    settle_error_ = event.result.failure().what;
    log::every(std::chrono::seconds(1), "settle:" + options_.feed.name, log::Level::warn, "settling failed",
               {{"feed", options_.feed.name}, {"error", event.result.failure().what}});
  }
  core_->settled(event.result, now());
}

void Runner::report_death(const Commands::Died& died) {
  const std::string& sink = options_.sinks[died.sink].name;
  observer_.dead(sink, died.reason);
  // Each has its line, however many there are: nobody else says which.
  log::warn("message is dead", {{"message", died.record->id},
                                {"sink", sink},
                                {"key", died.record->key},
                                {"reason", died.reason},
                                {"error", died.error},
                                {"attempts", std::to_string(died.attempts)},
                                {"owner", died.owner}});
}

void Runner::report_turn(const Commands::DestinationTurn& turn) {
  const std::string& sink = options_.sinks[turn.sink].name;
  if (turn.failure.empty()) {
    log::info("a destination takes messages again", {{"sink", sink}, {"destination", turn.destination}});
  } else {
    log::warn("a destination takes no messages: its breaker is open",
              {{"sink", sink}, {"destination", turn.destination}, {"reason", turn.failure}});
  }
}

void Runner::on(Completed& event) {
  const std::string& sink = options_.sinks[event.sink].name;
  for (Completion& each : event.completions) {
    // What comes back because the client was closed says nothing about the message.
    if (gave_up_ && each.outcome.verdict != Verdict::delivered) {
      each.outcome = client_dead("stopped", "the drain time-out was over");
    }
    observer_.attempted(sink, each.outcome.verdict);
    if (each.outcome.verdict == Verdict::delivered) {
      if (each.outcome.reason == "duplicate") observer_.duplicate(sink);
      continue;
    }
    log::every(std::chrono::seconds(1), "attempt:" + sink + ":" + each.outcome.reason, log::Level::info,
               "a delivery did not succeed",
               {{"sink", sink}, {"reason", each.outcome.reason}, {"detail", each.outcome.detail}});
  }
  core_->completed(event.sink, event.completions, now());
}

void Runner::on(Reopened& event) { core_->reopened(event.sink, event.result, now()); }

// Only the last one counts: between the lease of an earlier one and this lease another relay may have had the share.
void Runner::on(TakenOver& event) {
  if (event.asked != take_overs_) return;
  set_clock(event.state.database_now);
  epoch_ = event.state.epoch;
  if (!reading_) log::info("feed taken over", {{"feed", options_.feed.name}, {"epoch", std::to_string(epoch_)}});
  ever_started_ = true;
  reading_ = true;
  take_over_failures_ = 0;
  database_error_.clear();
  settle_error_.clear();
  core_->started(event.state, now());
}

void Runner::on(TakeOverFailed& event) {
  if (event.asked != take_overs_) return;
  reading_ = false;
  database_error_ = event.failure.what;
  const bool hopeless = event.failure.kind == FailureKind::refused || event.failure.kind == FailureKind::invalid;
  if (event.failure.kind == FailureKind::fenced) {
    end_with(RunnerEnd::fenced, event.failure);
    return;
  }
  if (hopeless && !ever_started_) {
    end_with(RunnerEnd::failed, event.failure);
    return;
  }
  log::every(std::chrono::seconds(5), "database:" + options_.feed.name, log::Level::warn, "waiting for the database",
             {{"feed", options_.feed.name}, {"error", event.failure.what}});
  if (stop_deadline_) return;
  retry_take_over_at_ = steady_now() + full_jitter(Duration(200ms), Duration(3s), ++take_over_failures_, random_);
}

void Runner::on(Pause& event) { core_->pause(event.sink, event.paused, now()); }

void Runner::on(Poke&) { core_->poke(now()); }

void Runner::on(Stop&) {
  if (stop_deadline_) return;
  stop_deadline_ = steady_clock::now() + runner_options_.drain_timeout;
  retry_take_over_at_ = kNeverSteady;
  core_->stop(now());
}

void Runner::on(Drain&) { core_->drain(now()); }

void Runner::carry_out(Commands commands) {
  for (const auto& each : commands.confirmed) {
    observer_.confirmed(options_.sinks[each.sink].name, each.since_created, each.since_published);
  }
  for (const Commands::Died& each : commands.died) report_death(each);
  for (const Commands::DestinationTurn& each : commands.destination_turns) report_turn(each);
  for (const Commands::Refused& each : commands.refused) {
    log::every(
        std::chrono::minutes(1), "refused:" + options_.feed.name + each.what, log::Level::error,
        "the database refuses to store what became of a message; it is tried again, and all else goes on",
        {{"feed", options_.feed.name},
         {"refused", each.what},
         {"error", each.error},
         {"hint", "look for a trigger, a constraint or a value that the relay's tables or the outbox do not take"}});
  }
  if (commands.fetch) {
    source_worker_->post([this, fetch = *commands.fetch] {
      const auto start = steady_clock::now();
      Result<Page> page = parts_.source->fetch(fetch.max_records, fetch.max_bytes);
      if (!page && !options_.feed.positions) {
        // A table with marks is simply read on; only positions need a take-over first.
        if (auto opened = parts_.source->open({}); !opened) page = opened.failure();
      }
      events_.push(Fetched{std::move(page), since(start)});
    });
  }
  for (auto& each : commands.publish) publish(each);
  if (commands.settle) settle(std::move(*commands.settle));
  if (commands.facts) {
    store_worker_->post([this, facts = std::move(*commands.facts)] {
      events_.push(Facts{parts_.store->page_facts(options_.sinks[facts.sink].name, facts.keys, facts.message_ids)});
    });
  }
  if (commands.due) {
    store_worker_->post([this, due = std::move(*commands.due)] {
      const std::string& sink = options_.sinks[due.sink].name;
      auto runs = parts_.store->due(sink, options_.feed.lanes, due.max_keys, due.run_max, due.except);
      Result<Store::Parking> parking =
          runs ? parts_.store->parking(sink, options_.feed.lanes) : Result<Store::Parking>(runs.failure());
      events_.push(DueAnswer{std::move(runs), std::move(parking)});
    });
  }
  for (const std::size_t sink : commands.reopen) {
    if (gave_up_) break;  // they are closed
    log::warn("rebuilding a client", {{"sink", options_.sinks[sink].name}});
    events_.push(Reopened{sink, parts_.sinks[sink]->reopen()});
  }
  if (commands.restart) take_over();
}

// The last look at the lease before a sink has the messages.
void Runner::publish(Commands::Publish& publish) {
  if (!runner_options_.lease || runner_options_.lease->term() == term_) {
    parts_.sinks[publish.sink]->publish(publish.batch);
    return;
  }
  std::vector<Completion> withheld;
  for (const Publication& each : publish.batch) {
    withheld.push_back({each.id, client_dead("lease_lapsed", "the lease ran out before it was sent")});
  }
  events_.push(Completed{publish.sink, std::move(withheld)});
}

void Runner::settle(SettleBatch batch) {
  store_worker_->post([this, batch = std::move(batch), epoch = epoch_] {
    events_.push(Settled{parts_.store->settle(options_.feed, epoch, batch)});
  });
}

void Runner::take_over() {
  retry_take_over_at_ = kNeverSteady;
  store_worker_->post([this, asked = ++take_overs_] {
    auto state = parts_.store->take_over(options_.feed, runner_options_.relay);
    if (!state) {
      events_.push(TakeOverFailed{state.failure(), asked});
      return;
    }
    source_worker_->post([this, taken = std::move(*state), asked] { open_source(taken, asked); });
  });
}

void Runner::open_source(const FeedState& state, std::uint64_t asked) {
  if (auto opened = parts_.source->open(state.start); !opened) {
    events_.push(TakeOverFailed{opened.failure(), asked});
    return;
  }
  events_.push(TakenOver{state, asked});
}

// The drain time-out is over: what is in flight comes back and says nothing about its messages (on(Completed)). It
// stays unsettled and is sent again next time.
void Runner::give_up_in_flight() {
  gave_up_ = true;
  log::warn("giving up what is in flight: the drain time-out is over", {{"feed", options_.feed.name}});
  for (auto& sink : parts_.sinks) sink->close();
}

// Once for each time that it is reached: while it drains it goes to and fro at the cap.
void Runner::report_cap(std::size_t index, const SinkView& sink) {
  const auto most = static_cast<std::int64_t>(options_.sinks[index].parked_max);
  const bool well_below = !sink.at_cap && sink.parked.uncharged * 10 < most * 9;
  if (capped_[index] ? !well_below : !sink.at_cap) return;
  capped_[index] = !capped_[index];
  log::write(capped_[index] ? log::Level::warn : log::Level::info,
             capped_[index] ? "parked deliveries are at their cap: nothing is read until there is room"
                            : "parked deliveries are below their cap again",
             {{"feed", options_.feed.name},
              {"sink", sink.name},
              {"waiting_for_destination", std::to_string(sink.parked.uncharged)},
              {"parked_max", std::to_string(most)}});
}

void Runner::publish_view(bool always) {
  const auto made_at = steady_clock::now();
  if (!always && made_at - view_made_at_ < kViewInterval) return;
  view_made_at_ = made_at;
  const std::string refusal = core_->refusal();
  FeedView view{core_->view(), reading_,       database_error_, refusal.empty() ? settle_error_ : refusal,
                last_poll_,    now().database, made_at};
  for (std::size_t i = 0; i < view.sinks.size(); ++i) {
    const SinkView& sink = view.sinks[i];
    report_cap(i, sink);
    if (sink.breaker == breakers_[i]) continue;
    const BreakerState before = std::exchange(breakers_[i], sink.breaker);
    observer_.breaker_changed(sink.name, sink.breaker);
    const bool well = sink.breaker == BreakerState::closed;
    log::Level level = well ? log::Level::info : log::Level::warn;
    if (!well && before != BreakerState::closed) level = log::Level::debug;  // each try has a line of its own
    log::write(level, "breaker " + std::string(to_string(sink.breaker)),
               {{"sink", sink.name}, {"reason", well ? "" : sink.breaker_reason}});
  }
  const std::lock_guard lock(mutex_);
  view_ = std::move(view);
}

void Runner::end_with(RunnerEnd end, Failure failure) {
  if (ending_ != RunnerEnd::running) return;
  ending_ = end;
  ending_failure_ = std::move(failure);
}

// Last of all, so that whoever hears of it can destroy the runner without waiting, and give its share away: no settle
// is outstanding.
void Runner::announce_end() {
  publish_view(true);
  {
    const std::lock_guard lock(mutex_);
    end_ = ending_;
    failure_ = std::move(ending_failure_);
  }
  ended_.notify_all();
  if (runner_options_.on_end) runner_options_.on_end();
}

}  // namespace outbox
