#include "relay.h"

#include <algorithm>

#include "process.h"

namespace outbox::sim {

namespace {

constexpr int kIdleTicksMax = 1000;

Failure away() { return {FailureKind::unavailable, "the database does not answer"}; }
Failure raised() { return {FailureKind::local, "a trigger raises"}; }

// What a batch would write, as text: for the trace, and to compare a repeat with what it repeats.
std::string describe(const SettleBatch& batch) {
  std::string text;
  for (const auto& park : batch.parks) {
    text += fmt::format(" {} {}@{} ({})", park.state == DeliveryState::dead ? "dead" : "park", park.record->id,
                        park.sink, park.reason);
  }
  for (const auto& update : batch.updates) {
    constexpr const char* kKinds[] = {"done", "wait", "dead"};
    text += fmt::format(" row {} {} ({})", update.row, kKinds[static_cast<int>(update.kind)], update.attempts);
  }
  for (const auto& record : batch.settled) text += " mark " + record->id;
  if (batch.position) {
    text += fmt::format(" position {} → {} seq {}", batch.position->from, batch.position->to, batch.position->seq);
    for (const RowRef& row : batch.position->ahead) text += fmt::format(" +{}", row.seq);
  }
  return text;
}

}  // namespace

Relay::Relay(World world, Process& process, Lanes lanes, int number)
    : world_(world),
      process_(process),
      feed_([&] {
        Feed feed = world.scenario.options.feed;
        feed.lanes = lanes;
        return feed;
      }()),
      number_(number),
      name_(lanes.all() ? process.name() : process.name() + "/" + to_string(lanes)),
      source_(world.scenario, world.database, world.loop, world.dice, lanes) {
  const SimSink::World sinks{world.scenario, world.faults, world.loop, world.dice, world.witness, world.trace};
  for (std::size_t i = 0; i < world.scenario.sinks.size(); ++i) {
    listeners_.push_back(std::make_unique<Listener>(*this, i));
    clients_.push_back(std::make_unique<SimSink>(sinks, *world.far_ends[i], i));
    (void)clients_.back()->open(*listeners_.back());
  }
  set_clock(world.loop.now() + world.dice.between(Duration(-2s), Duration(2s)));
  CoreOptions options = world.scenario.options;
  options.feed = feed_;
  core_ = std::make_unique<Core>(options, std::make_shared<Router>(world.scenario.routes), world.dice.next());
}

Now Relay::now() const {
  const SteadyTime steady = process_.local_now();
  return {steady, Time(steady.time_since_epoch() + clock_offset_)};
}

void Relay::set_clock(Time database_now) {
  clock_offset_ = database_now.time_since_epoch() - process_.local_now().time_since_epoch();
}

void Relay::event(std::function<void()> event) {
  if (!process_.running() || finished_) return;
  if (world_.loop.now() < process_.awake_at()) {
    world_.loop.at(process_.awake_at(), [this, event = std::move(event)]() mutable { this->event(std::move(event)); });
    return;
  }
  watch_lease();
  lag_max_ = std::max(lag_max_, world_.database.now() - now().database);
  event();
  carry_out();
}

void Relay::watch_lease() {
  const std::uint64_t term = process_.term();
  if (term == term_) return;
  if (term_ != 0) {
    world_.trace("{}      its lease has run out, with {} in flight", name_, in_flight());
    restarting_ = true;
    core_->lapsed(now());
    for (const auto& client : clients_) client->lapsed();
  }
  term_ = term;
  if (term_ == 0) return;
  world_.trace("{}      has a lease, term {}", name_, term_);
  core_->leased(now());
}

void Relay::look_at_lease() {
  event([this] { core_->tick(now()); });
}

// Where the process is stopped before a call left it, that goes out on waking.
void Relay::run_effect(std::function<void()> effect) {
  if (!process_.calls_are_held()) return effect();
  world_.loop.at(process_.stopped_until(),
                 [this, effect = std::move(effect)]() mutable { run_effect(std::move(effect)); });
}

void Relay::call(Time& thread_free, std::function<void()> effect, Answer answer) {
  auto& dice = world_.dice;
  const auto& faults = world_.faults;
  const Duration delay = world_.scenario.delay_max;
  const bool fails = dice.chance(faults.call_fails);
  const bool in_doubt = dice.chance(faults.call_in_doubt);
  const Failure failure = fails && dice.chance(0.3) ? raised() : away();
  Time when = std::max(world_.loop.now(), thread_free) + dice.between(Duration(10), delay);
  if (dice.chance(faults.call_hangs)) when += dice.between(Duration(500ms), Duration(3s));
  thread_free = when + dice.between(Duration(10), delay);
  auto result = std::make_shared<Result<void>>();
  world_.loop.at(when, [this, result, fails, in_doubt, failure, effect = std::move(effect)]() mutable {
    run_effect([this, result, fails, in_doubt, failure, effect = std::move(effect)] {
      if (world_.store_down) {
        *result = away();
        return;
      }
      if (fails || in_doubt) *result = failure;
      // A call on its way when its process dies may arrive or not.
      const bool arrives = process_.alive() || world_.dice.chance(0.5);
      if (arrives && !fails) effect();
    });
  });
  world_.loop.at(thread_free,
                 [this, result, answer = std::move(answer)] { event([result, answer] { answer(*result); }); });
}

void Relay::start() {
  term_ = process_.term();
  if (term_ == 0) core_->lapsed(now());
  for (std::size_t sink = 0; sink < clients_.size(); ++sink) {
    if (process_.paused(sink)) core_->pause(sink, true, now());
  }
  take_over();
}

void Relay::take_over() {
  auto state = std::make_shared<Result<FeedState>>(FeedState{});
  call(
      store_free_, [this, state] { *state = world_.store.take_over(feed_, process_.name()); },
      [this, state, asked = ++take_overs_](const Result<void>& result) {
        if (asked != take_overs_ || !result) core_->tick(now());
        if (asked != take_overs_) return;
        if (!result) return take_over();
        if (!*state) {
          world_.trace("{}      cannot take over: {}", name_, state->failure().what);
          return end(true);
        }
        open_source(**state, asked);
      });
}

void Relay::open_source(const FeedState& state, std::uint64_t asked) {
  call(
      source_free_, [this, state] { (void)source_.open(state.start); },
      [this, state, asked](const Result<void>& result) {
        if (asked != take_overs_ || !result) core_->tick(now());
        if (asked != take_overs_) return;
        if (!result) return take_over();
        taken_over(state);
      });
}

void Relay::taken_over(const FeedState& state) {
  epoch_ = state.epoch;
  set_clock(state.database_now);
  lag_max_ = Duration(0);
  in_doubt_.clear();
  restarting_ = false;
  if (++life_ == 1) began_at_ = world_.loop.now();
  for (const auto& client : clients_) client->begin_life(life());
  world_.trace("{}      begins, epoch {}", name_, epoch_);
  core_->started(state, now());
}

bool Relay::stale() const {
  const auto* row = world_.leases.find(feed_.lanes);
  return row == nullptr || row->owner != process_.name() || row->epoch != epoch_;
}

void Relay::crash() {
  core_.reset();
  for (const auto& client : clients_) client->crash();
}

void Relay::stopped() {
  for (const auto& client : clients_) client->stopped_until(process_.stopped_until());
}

void Relay::pause(std::size_t sink, bool paused) {
  event([this, sink, paused] {
    world_.trace("{}      {} {}", name_, paused ? "pauses" : "resumes", world_.scenario.sinks[sink].name);
    core_->pause(sink, paused, now());
  });
}

// Its clients are closed: what they still hold is given up.
void Relay::end(bool fenced) {
  if (std::exchange(finished_, true)) return;
  fenced_ = fenced_ || fenced;
  for (const auto& client : clients_) client->crash();
  process_.relay_ended(store_free_);
}

void Relay::stop() {
  event([this] {
    world_.trace("{}      is told to stop", name_);
    core_->stop(now());
  });
}

void Relay::drain() {
  event([this] {
    world_.trace("{}      is told to drain", name_);
    core_->drain(now());
  });
}

std::size_t Relay::in_flight() const {
  std::size_t sum = 0;
  if (!core_) return sum;
  for (const auto& view : core_->view()) sum += view.in_flight;
  return sum;
}

bool Relay::at_rest() const {
  if (!core_) return false;
  const auto views = core_->view();
  return std::all_of(views.begin(), views.end(), [](const SinkView& view) {
    return view.breaker == BreakerState::closed && view.held_destinations == 0 && view.in_flight == 0 &&
           view.queued == 0;
  });
}

std::string Relay::state() const {
  if (!core_) return name_ + " has not started";
  std::string text = name_;
  for (const auto& view : core_->view()) {
    text += fmt::format(" [{}: breaker {}, {} held destinations, {} in flight, {} queued, {} waiting{}]", view.name,
                        to_string(view.breaker), view.held_destinations, view.in_flight, view.queued,
                        view.parked.waiting, view.held_because.empty() ? "" : ", held: " + view.held_because);
  }
  return text;
}

void Relay::completed(std::size_t sink, std::vector<Completion> completions) {
  event([this, sink, completions = std::move(completions)] { core_->completed(sink, completions, now()); });
}

void Relay::carry_out() {
  if (!core_ || finished_) return;
  Commands commands = core_->take();
  if (core_->fenced() && !fenced_) world_.trace("{}      knows that it is fenced", name_);
  fenced_ = core_->fenced();
  const bool idle = commands.publish.empty() && !commands.fetch && !commands.settle && !commands.facts &&
                    !commands.due && !commands.restart && commands.reopen.empty();
  if (!idle) idle_ticks_ = 0;
  if (commands.settle) settle(std::move(*commands.settle));
  for (const auto& each : commands.publish) publish(each);
  if (commands.facts) facts(*commands.facts);
  if (commands.due) due(*commands.due);
  if (commands.fetch) fetch(*commands.fetch);
  for (const auto sink : commands.reopen) reopen(sink);
  if (commands.restart) restart();
  if (commands.finished) {
    world_.trace("{}      finished", name_);
    if (!fenced_ && ((settling_ && !restarting_) || in_flight() > 0)) {
      world_.witness.broken("{} finished with work outstanding", name_);
    }
    return end(false);
  }
  wake(commands.wake_at);
}

void Relay::restart() {
  world_.trace("{}      takes over anew", name_);
  restarting_ = true;
  take_over();
}

void Relay::publish(const Commands::Publish& publish) {
  for (const auto& each : publish.batch) {
    world_.trace("{}      publish {} to {} {} (attempt {})", name_, each.record->id,
                 world_.scenario.sinks[publish.sink].name, each.destination, each.attempt);
    world_.witness.published({life(), stale(), fenced_, !world_.leases.valid(process_.name()),
                              process_.paused(publish.sink), lag_max_, began_at_},
                             publish.sink, each);
  }
  clients_[publish.sink]->publish(publish.batch);
}

void Relay::fetch(const Commands::Fetch& fetch) {
  if (std::exchange(fetching_, true)) world_.witness.broken("{} asked for a second fetch", name_);
  if (fetch.max_records == 0) world_.witness.broken("{} asked for a page of no records", name_);
  auto page = std::make_shared<Page>();
  call(
      source_free_, [this, fetch, page] { *page = *source_.fetch(fetch.max_records, fetch.max_bytes); },
      [this, page](const Result<void>& result) {
        fetching_ = false;
        if (!result) {
          world_.trace("{}      fetch failed", name_);
          *page = {};
          // A table with marks is simply read on; only positions need a take-over first.
          if (world_.scenario.mode == Mode::mark) (void)source_.open({});
          return core_->fetched(result.failure(), now());
        }
        if (world_.trace.on() && !page->records.empty()) {
          std::string ids;
          for (const auto& record : page->records) ids += " " + record->id;
          world_.trace("{}      fetched{} of {} → {}{}", name_, ids, page->window.from, page->window.to,
                       page->window_done ? ", the last of the window" : "");
        }
        check_memory();
        set_clock(page->database_now);
        core_->fetched(std::move(*page), now());
      });
}

void Relay::check_memory() {
  // A page always fits, so that there is progress with any window.
  const auto& options = world_.scenario.options;
  std::size_t most = std::max(options.window_records, options.page_records);
  for (const auto& client : clients_) most += client->strays();
  if (source_.held().records > most) {
    world_.witness.broken("{} holds {} records, more than its window of {}", name_, source_.held().records, most);
  }
}

void Relay::settle(SettleBatch batch) {
  if (std::exchange(settling_, true)) world_.witness.broken("{} asked for a second settle", name_);
  if (batch.empty()) world_.witness.broken("{} settles nothing", name_);
  const std::string text = describe(batch);
  world_.trace("{}      settle{}", name_, text);
  if (!in_doubt_.empty() && in_doubt_ != text) {
    world_.witness.broken("{} changed a settle that may have been written: it was{}, it is{}", name_, in_doubt_, text);
  }
  // A repeat says what was true before; and who has just woken has not heard all that was reported meanwhile.
  const bool behind = !in_doubt_.empty() || world_.loop.now() == process_.awake_at();
  const std::uint64_t step = behind ? 0 : world_.loop.step();
  auto held = std::make_shared<SettleBatch>(std::move(batch));
  auto settled = std::make_shared<Result<void>>();
  call(
      store_free_,
      [this, held, settled, life = life(), step, epoch = epoch_] {
        world_.witness.writing(life, step);
        *settled = world_.store.settle(feed_, epoch, *held);
      },
      [this, held, settled, text](const Result<void>& result) {
        settling_ = false;
        in_doubt_ = result ? "" : text;
        *held = {};
        if (!result) *settled = result;
        world_.trace("{}      settle {}", name_, *settled ? "confirmed" : settled->failure().what);
        core_->settled(*settled, now());
      });
}

void Relay::facts(const Commands::Facts& facts) {
  if (std::exchange(asking_facts_, true)) world_.witness.broken("{} asked for facts a second time", name_);
  auto found = std::make_shared<PageFacts>();
  const auto& sink = world_.scenario.sinks[facts.sink].name;
  world_.trace("{}      asks for {} keys and {} messages at {}", name_, facts.keys.size(), facts.message_ids.size(),
               sink);
  call(
      store_free_,
      [this, facts, sink, found] { *found = *world_.store.page_facts(sink, facts.keys, facts.message_ids); },
      [this, found](const Result<void>& result) {
        asking_facts_ = false;
        std::string text;
        for (const auto& key : found->waiting_keys) text += " " + key;
        for (const auto& id : found->known_messages) text += " " + id;
        world_.trace("{}      facts{}", name_, result ? text : " failed");
        if (!result) return core_->facts(result.failure(), now());
        core_->facts(std::move(*found), now());
      });
}

void Relay::due(const Commands::Due& due) {
  if (std::exchange(asking_due_, true)) world_.witness.broken("{} asked what is due a second time", name_);
  auto runs = std::make_shared<std::vector<ParkedRun>>();
  auto parking = std::make_shared<Store::Parking>();
  const auto& sink = world_.scenario.sinks[due.sink].name;
  call(
      store_free_,
      [this, due, sink, runs, parking] {
        *runs = *world_.store.due(sink, feed_.lanes, due.max_keys, due.run_max, due.except);
        *parking = *world_.store.parking(sink, feed_.lanes);
      },
      [this, sink, runs, parking](const Result<void>& result) {
        asking_due_ = false;
        if (!result) return core_->due(result.failure(), result.failure(), now());
        for (const auto& run : *runs) {
          std::string ids;
          for (const auto& each : run.deliveries) ids += " " + each.record->id;
          world_.trace("{}      due at {}:{}{}", name_, sink, ids, run.more ? " and more" : "");
        }
        core_->due(std::move(*runs), *parking, now());
      });
}

void Relay::reopen(std::size_t sink) {
  // At a lapse there and then: what the client holds is not to go out any more.
  const Duration takes = term_ == 0 ? Duration(0) : world_.dice.between(Duration(0), Duration(20ms));
  world_.loop.after(takes, [this, sink] {
    event([this, sink] {
      world_.trace("{}      reopens the client of {}", name_, world_.scenario.sinks[sink].name);
      (void)clients_[sink]->reopen();
      core_->reopened(sink, {}, now());
    });
  });
}

void Relay::wake(SteadyTime at) {
  const SteadyTime now = process_.local_now();
  if (at == wake_at_ && at > now) return;
  wake_at_ = at;
  const auto order = ++wake_order_;
  if (at == kNeverSteady) return;
  world_.loop.after(std::max(at - now, Duration(1)), [this, order] {
    if (order != wake_order_) return;
    wake_at_ = kNeverSteady;
    event([this] {
      if (++idle_ticks_ > kIdleTicksMax) world_.witness.broken("{} wakes again and again for nothing", name_);
      core_->tick(this->now());
    });
  });
}

}  // namespace outbox::sim
