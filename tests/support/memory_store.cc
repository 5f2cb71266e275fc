#include <algorithm>

#include "base/utf8.h"
#include "support/memory_outbox_state.h"

namespace outbox::test {

class MemoryStore final : public Store {
 public:
  explicit MemoryStore(std::shared_ptr<MemoryOutbox::State> state) : state_(std::move(state)) {}

  Result<FeedState> take_over(const Feed& feed, const std::string&) override {
    const std::lock_guard lock(state_->mutex);
    if (auto fine = state_->check("take_over"); !fine) return fine.failure();
    const auto [place, added] = state_->places.try_emplace(feed.name);
    if (added && !feed.from_beginning) place->second.position.seq = state_->last_seq;
    ++place->second.epoch;
    return FeedState{place->second.position, place->second.epoch, state_->now()};
  }

  Result<void> settle(const Feed& feed, std::uint64_t epoch, const SettleBatch& batch) override {
    const std::lock_guard lock(state_->mutex);
    if (auto fine = state_->check("settle"); !fine) return fine;
    const auto place = state_->places.find(feed.name);
    if (place == state_->places.end() || place->second.epoch != epoch) {
      return Failure{FailureKind::fenced, "memory: another relay has taken " + feed.name + " over"};
    }
    for (const auto& update : batch.updates) apply(update);
    for (const auto& park : batch.parks) add(park);
    if (batch.position) place->second.position = *batch.position;
    for (const auto& record : batch.settled) state_->marked.insert(record->seq);
    return {};
  }

  Result<std::vector<ParkedRun>> due(const std::string& sink, const Lanes&, std::size_t max_keys, std::size_t run_max,
                                     const std::vector<std::string>& except) override {
    const std::lock_guard lock(state_->mutex);
    if (auto fine = state_->check("due"); !fine) return fine.failure();
    std::vector<ParkedRun> runs;
    std::set<std::string> looked_at(except.begin(), except.end());
    for (const auto& row : state_->parked) {
      if (row.park.sink != sink || !counts(row) || !looked_at.insert(row.park.record->key).second) continue;
      auto run = run_of(sink, row.park.record->key, run_max);
      if (!run.deliveries.empty()) runs.push_back(std::move(run));
      if (runs.size() == max_keys) break;
    }
    return runs;
  }

  Result<Parking> parking(const std::string& sink, const Lanes&) override {
    const std::lock_guard lock(state_->mutex);
    if (auto fine = state_->check("parking"); !fine) return fine.failure();
    Parking parking;
    parking.counts = counts_of(sink);
    std::set<std::string> headed;
    for (const auto& row : state_->parked) {
      if (row.park.sink != sink) continue;
      const bool waits = row.state == "waiting";
      if (waits && !counts(row)) parking.next_due = std::min(parking.next_due, row.park.next_attempt);
      if (!counts(row) || !headed.insert(row.park.record->key).second || !waits) continue;
      parking.next_due = std::min(parking.next_due, row.park.next_attempt);
    }
    return parking;
  }

  Result<PageFacts> page_facts(const std::string& sink, const std::vector<std::string>& keys,
                               const std::vector<std::string>& message_ids) override {
    const std::lock_guard lock(state_->mutex);
    if (auto fine = state_->check("page_facts"); !fine) return fine.failure();
    PageFacts facts;
    const auto any = [&](const auto& fits) {
      return std::any_of(state_->parked.begin(), state_->parked.end(),
                         [&](const auto& row) { return row.park.sink == sink && fits(row); });
    };
    for (const auto& key : keys) {
      if (any([&](const auto& row) { return row.park.record->key == key && counts(row); })) {
        facts.waiting_keys.push_back(key);
      }
    }
    for (const auto& id : message_ids) {
      if (any([&](const auto& row) { return row.park.record->id == id; })) facts.known_messages.push_back(id);
    }
    return facts;
  }

  Result<void> heartbeat(const Heartbeat& beat) override {
    const std::lock_guard lock(state_->mutex);
    if (auto fine = state_->check("heartbeat"); !fine) return fine;
    auto& relay = state_->relays[beat.relay];
    if (relay.name.empty() || (relay.stopped && !beat.stopping)) relay.started_at = state_->now();
    relay = {beat.relay, relay.started_at, state_->now(), beat.stopping, beat.sinks_json};
    return {};
  }

  Result<StoreStatus> status(const std::vector<Feed>& feeds) override {
    const std::lock_guard lock(state_->mutex);
    if (auto fine = state_->check("status"); !fine) return fine.failure();
    StoreStatus status;
    status.database_now = state_->now();
    for (const auto& [seq, record] : state_->rows) {
      if (std::all_of(feeds.begin(), feeds.end(), [&](const Feed& feed) { return is_settled(feed, seq); })) continue;
      ++status.unsent;
      if (!status.oldest_unsent) status.oldest_unsent = record->created_at;
    }
    for (const auto& feed : feeds) {
      for (const auto& sink : feed.sinks) status.sinks[sink] = sink_status(sink);
    }
    for (const auto& [name, place] : state_->places) {
      if (name != "*") status.sinks[name] = sink_status(name);
    }
    for (const auto& [name, relay] : state_->relays) status.relays.push_back(relay);
    return status;
  }

  Result<std::vector<SinkPause>> pauses() override {
    const std::lock_guard lock(state_->mutex);
    if (auto fine = state_->check("pauses"); !fine) return fine.failure();
    return state_->pauses;
  }

  Result<std::int64_t> prune(const std::vector<Feed>& feeds, const Retention& retention, std::int64_t max_rows,
                             bool dry_run) override {
    const std::lock_guard lock(state_->mutex);
    if (auto fine = state_->check("prune"); !fine) return fine.failure();
    std::int64_t gone = 0;
    const auto now = state_->now();
    for (auto at = state_->rows.begin(); at != state_->rows.end() && retention.sent && gone < max_rows;) {
      const bool sent =
          std::all_of(feeds.begin(), feeds.end(), [&](const Feed& feed) { return passed(feed, at->first); });
      const bool goes = sent && at->second->created_at < now - *retention.sent;
      gone += goes ? 1 : 0;
      at = goes && !dry_run ? state_->rows.erase(at) : std::next(at);
    }
    const auto finished = [&](const MemoryOutbox::ParkedRow& row) {
      const bool old = row.state == "dead" && retention.dead && row.died_at < now - *retention.dead;
      return (row.state == "done" || old) && std::all_of(feeds.begin(), feeds.end(), [&](const Feed& feed) {
               return feed.name != row.park.sink || passed(feed, row.park.record->seq);
             });
    };
    gone += std::count_if(state_->parked.begin(), state_->parked.end(), finished);
    if (!dry_run) std::erase_if(state_->parked, finished);
    return gone;
  }

 private:
  // Blocks and heads its key.
  bool counts(const MemoryOutbox::ParkedRow& row) const {
    if (row.state == "waiting") return !row.park.not_due || row.park.next_attempt <= state_->now();
    return row.state == "dead" && row.park.holds_key;
  }

  ParkedRun run_of(const std::string& sink, const std::string& key, std::size_t run_max) const {
    ParkedRun run{key, {}, false};
    for (const auto& row : state_->parked) {
      if (row.park.sink != sink || row.park.record->key != key || !counts(row)) continue;
      if (row.state == "dead") break;
      const bool follows = !run.deliveries.empty() && !row.park.charged;
      if (run.deliveries.size() == run_max || (row.park.next_attempt > state_->now() && !follows)) {
        run.more = true;
        break;
      }
      run.deliveries.push_back({row.row, row.park.record, row.park.attempts, row.replays, row.parked_at});
    }
    return run;
  }

  ParkedCounts counts_of(const std::string& sink) const {
    ParkedCounts counts;
    const auto place = state_->places.find(sink);
    for (const auto& row : state_->parked) {
      if (row.park.sink != sink) continue;
      const bool waits = row.state == "waiting";
      counts.waiting += waits ? 1 : 0;
      counts.dead += row.state == "dead" ? 1 : 0;
      const bool uncharged = !row.park.charged && !row.park.not_due;
      counts.uncharged += waits && uncharged ? 1 : 0;
      counts.not_due += waits && row.park.not_due && row.park.next_attempt > state_->now() ? 1 : 0;
      const bool ahead = place == state_->places.end() || row.park.record->seq > place->second.position.seq;
      counts.concerns_stream = counts.concerns_stream || waits || row.park.holds_key || ahead;
    }
    return counts;
  }

  SinkStatus sink_status(const std::string& sink) const {
    SinkStatus status;
    status.parked = counts_of(sink);
    for (const auto& row : state_->parked) {
      if (row.park.sink != sink || row.state == "done") continue;
      if (!row.park.error.empty()) {
        status.last_error = row.park.error;
        status.last_error_at = state_->now();
      }
      if (row.state == "waiting" && (!status.oldest_waiting || row.park.record->created_at < *status.oldest_waiting)) {
        status.oldest_waiting = row.park.record->created_at;
      }
    }
    return status;
  }

  bool passed(const Feed& feed, std::int64_t seq) const {
    if (!feed.positions) return state_->marked.contains(seq);
    const auto place = state_->places.find(feed.name);
    return place != state_->places.end() && seq <= place->second.position.seq;
  }

  bool is_settled(const Feed& feed, std::int64_t seq) const {
    if (passed(feed, seq)) return true;
    const auto place = state_->places.find(feed.name);
    if (!feed.positions || place == state_->places.end()) return false;
    const auto& ahead = place->second.position.ahead;
    return std::count(ahead.begin(), ahead.end(), RowRef{seq, 0}) > 0;
  }

  void apply(const ParkedUpdate& update) {
    for (auto& row : state_->parked) {
      if (row.row != update.row || row.state != "waiting" || row.replays != update.replays) continue;
      row.park.not_due = false;
      if (update.kind == ParkedUpdate::Kind::done) {
        row.state = "done";
        continue;
      }
      row.state = update.kind == ParkedUpdate::Kind::dead ? "dead" : "waiting";
      row.died_at = state_->now();
      if (row.park.attempts == 0 && update.attempts > 0) row.parked_at = state_->now();
      row.park.charged = row.park.charged || update.attempts > row.park.attempts;
      row.park.attempts = update.attempts;
      row.park.next_attempt = update.next_attempt;
      row.park.holds_key = update.holds_key;
      row.park.reason = update.reason;
      row.park.error = update.error;
    }
  }

  void add(const Park& park) {
    const bool known = std::any_of(state_->parked.begin(), state_->parked.end(), [&](const auto& row) {
      return row.park.sink == park.sink && row.park.record->id == park.record->id;
    });
    if (known) return;
    const auto row = ++state_->last_row;
    state_->parked.push_back(
        {row, row, park.state == DeliveryState::dead ? "dead" : "waiting", state_->now(), park, state_->now()});
    state_->parked.back().park.error = valid_utf8(park.error, 4096);
  }

  std::shared_ptr<MemoryOutbox::State> state_;
};

std::unique_ptr<Store> MemoryOutbox::store() { return std::make_unique<MemoryStore>(state_); }

}  // namespace outbox::test
