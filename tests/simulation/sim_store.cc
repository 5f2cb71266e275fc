#include "sim_store.h"

#include <algorithm>
#include <set>

#include "flaw.h"
#include "record.h"

namespace outbox::sim {

namespace {
// Where rows are marked, a settle that is in doubt is repeated for a while: a tombstone has to outlive that.
constexpr Duration kMarkedTombstoneAge{10s};
constexpr int kReplaysMax = 10;
}  // namespace

SimStore::SimStore(const Scenario& scenario, Database& database, Loop& loop, SimLeases& leases, Witness& witness,
                   Trace& trace)
    : scenario_(scenario), database_(database), loop_(loop), leases_(leases), witness_(witness), trace_(trace) {}

Result<FeedState> SimStore::take_over(const Feed& feed, const std::string& relay) {
  auto* row = leases_.find(feed.lanes);
  if (row == nullptr) return Failure{FailureKind::fenced, "the lanes were divided otherwise meanwhile"};
  if (!leases_.valid(relay)) return Failure{FailureKind::fenced, "the lease of " + relay + " has run out"};
  if (row->owner != relay && leases_.valid(row->owner) && !flawed(Flaw::takes_what_is_leased)) {
    return Failure{FailureKind::fenced, row->owner + " owns them"};
  }
  row->owner = relay;
  ++row->epoch;
  witness_.taken_over(feed.lanes);
  const Position& at = row->position;
  trace_("store   {} taken over by {}, epoch {}, position {} → {} seq {} +{}", to_string(feed.lanes), relay, row->epoch,
         at.from, at.to, at.seq, at.ahead.size());
  return FeedState{at, row->epoch, database_.now()};
}

Result<void> SimStore::settle(const Feed& feed, std::uint64_t epoch, const SettleBatch& batch) {
  auto* row = leases_.find(feed.lanes);
  if ((row == nullptr || epoch != row->epoch) && !flawed(Flaw::stale_owner_settles)) {
    return Failure{FailureKind::fenced, "another relay has taken over"};
  }
  if (const Message* message = refused(batch)) {
    trace_("store   refuses {}", message->id);
    return Failure{FailureKind::invalid, "it does not take " + message->id};
  }
  for (const auto& each : batch.parks) park(each, feed.lanes);
  for (const auto& each : batch.updates) update(each);
  if (batch.position && row != nullptr) {
    const Position before = std::exchange(row->position, *batch.position);
    witness_.position_moved(feed.lanes, before, row->position);
  }
  for (const auto& each : batch.settled) {
    auto& message = database_.message(each->id);
    message.marked = true;
    witness_.marked(message);
  }
  if (flawed(Flaw::no_tombstones)) drop_tombstones();
  return {};
}

const Message* SimStore::refused(const SettleBatch& batch) const {
  if (!refuses_) return nullptr;
  const auto named = [&](const RecordPtr& record) {
    const Message& message = database_.message(record->id);
    return message.refused ? &message : nullptr;
  };
  for (const auto& park : batch.parks) {
    if (const auto* found = named(park.record)) return found;
  }
  for (const auto& record : batch.settled) {
    if (const auto* found = named(record)) return found;
  }
  for (const auto& update : batch.updates) {
    const auto row = std::find_if(rows_.begin(), rows_.end(), [&](const Row& each) { return each.row == update.row; });
    if (row == rows_.end()) continue;
    const auto& message = database_.messages()[static_cast<std::size_t>(row->message)];
    if (message.refused) return &message;
  }
  return nullptr;
}

const SimStore::Row* SimStore::find(int message, const std::string& sink) const {
  const auto found = std::find_if(rows_.begin(), rows_.end(),
                                  [&](const Row& row) { return row.message == message && row.sink == sink; });
  return found == rows_.end() ? nullptr : &*found;
}

void SimStore::park(const Park& park, const Lanes& lanes) {
  const auto& message = database_.message(park.record->id);
  if (find(message.index, park.sink) != nullptr && !flawed(Flaw::parks_twice)) return;
  Row row;
  row.row = next_row_++;
  row.ord = row.row;
  row.message = message.index;
  row.sink = park.sink;
  row.key = park.record->key;
  row.state = park.state;
  row.attempts = park.attempts;
  row.next_attempt = park.next_attempt;
  row.charged = park.charged;
  row.not_due = park.not_due;
  row.holds_key = park.holds_key;
  row.reason = park.reason;
  row.failing_since = row.changed_at = database_.now();
  rows_.push_back(row);
  if (park.attempts > 0) witness_.failing(park.sink, message);
  if (park.state == DeliveryState::waiting && !park.not_due) {
    witness_.waits_until(park.sink, message, park.next_attempt);
  }
  witness_.parked(park.sink, message, park.state == DeliveryState::dead, park.reason);
  if (park.state == DeliveryState::waiting && !park.charged && !park.not_due && park.reason != "held_up") {
    witness_.parked_for_destination(park.sink, parking(park.sink, lanes)->counts.uncharged,
                                    park.reason == "behind_key");
  }
}

void SimStore::update(const ParkedUpdate& update) {
  const auto row = std::find_if(rows_.begin(), rows_.end(), [&](const Row& each) { return each.row == update.row; });
  // Whoever discarded it meanwhile has decided; a repeated settle finds its work done.
  if (row == rows_.end()) return;
  if (row->state != DeliveryState::waiting && !flawed(Flaw::update_revives)) return;
  if (row->replays != update.replays && !flawed(Flaw::update_undoes_requeue)) return;
  switch (update.kind) {
    case ParkedUpdate::Kind::done: row->state = DeliveryState::settled; break;
    case ParkedUpdate::Kind::waiting:
      row->next_attempt = update.next_attempt;
      witness_.waits_until(row->sink, database_.messages()[static_cast<std::size_t>(row->message)],
                           update.next_attempt);
      break;
    case ParkedUpdate::Kind::dead: row->state = DeliveryState::dead; break;
  }
  row->not_due = false;
  row->changed_at = database_.now();
  row->charged = row->charged || update.attempts > row->attempts;
  const auto& message = database_.messages()[static_cast<std::size_t>(row->message)];
  if (row->attempts == 0 && update.attempts > 0) {
    row->failing_since = database_.now();
    witness_.failing(row->sink, message);
  }
  row->attempts = update.attempts;
  row->holds_key = update.holds_key;
  row->reason = update.reason;
  witness_.row_updated(row->sink, message, update.kind, update.reason);
}

void SimStore::drop_tombstones() {
  const Duration age = scenario_.mode == Mode::mark ? kMarkedTombstoneAge : Duration(0);
  std::erase_if(rows_, [&](const Row& row) {
    if (row.state != DeliveryState::settled) return false;
    const auto& message = database_.messages()[static_cast<std::size_t>(row.message)];
    return flawed(Flaw::no_tombstones) || (passed(message) && database_.now() - row.changed_at > age);
  });
}

bool SimStore::passed(const Message& message) const {
  if (scenario_.mode == Mode::mark) return message.marked;
  // The set of what is settled ahead is bounded: who stands in it may be read again. Only the prefix counts.
  Position prefix = position_of(message);
  prefix.ahead.clear();
  return database_.covered(message, prefix);
}

bool SimStore::waits_for_its_time(const Row& row) const { return row.not_due && row.next_attempt > database_.now(); }

std::vector<const SimStore::Row*> SimStore::of_key(const std::string& sink, const std::string& key) const {
  std::vector<const Row*> found;
  for (const auto& row : rows_) {
    if (row.sink == sink && row.key == key) found.push_back(&row);
  }
  return found;
}

std::vector<const SimStore::Row*> SimStore::triable(const std::vector<const Row*>& rows) const {
  std::vector<const Row*> run;
  for (const Row* row : rows) {
    if (row->state == DeliveryState::dead && row->holds_key) break;
    if (row->state != DeliveryState::waiting || waits_for_its_time(*row)) continue;
    if (row->next_attempt > database_.now()) break;
    run.push_back(row);
  }
  return run;
}

Result<std::vector<ParkedRun>> SimStore::due(const std::string& sink, const Lanes& lanes, std::size_t max_keys,
                                             std::size_t run_max, const std::vector<std::string>& except) {
  std::vector<ParkedRun> runs;
  std::set<std::string> seen(except.begin(), except.end());
  for (const auto& first : rows_) {
    if (runs.size() == max_keys) break;
    if (first.sink != sink || !holds(lanes, lane_of(first.key)) || first.state != DeliveryState::waiting ||
        !seen.insert(first.key).second)
      continue;
    const auto run = triable(of_key(sink, first.key));
    if (run.empty()) continue;
    ParkedRun found{first.key, {}, run.size() > run_max};
    for (const Row* row : run) {
      if (found.deliveries.size() == run_max) break;
      const auto& message = database_.messages()[static_cast<std::size_t>(row->message)];
      found.deliveries.push_back({row->row,
                                  make_record(message, scenario_, {Origin::parked, loop_.step(), row->version}),
                                  row->attempts, row->replays, row->failing_since});
    }
    runs.push_back(std::move(found));
  }
  return runs;
}

Result<Store::Parking> SimStore::parking(const std::string& sink, const Lanes& lanes) {
  Parking parking;
  std::set<std::string> heads;
  for (const auto& row : rows_) {
    if (row.sink != sink || !holds(lanes, lane_of(row.key))) continue;
    const auto& message = database_.messages()[static_cast<std::size_t>(row.message)];
    if (row.state == DeliveryState::dead) {
      ++parking.counts.dead;
      if (row.holds_key) heads.insert(row.key);
    }
    if (row.state == DeliveryState::waiting) {
      ++parking.counts.waiting;
      const bool apart = waits_for_its_time(row);
      if (apart) ++parking.counts.not_due;
      if (!row.charged && !row.not_due) ++parking.counts.uncharged;
      if (apart || heads.insert(row.key).second) parking.next_due = std::min(parking.next_due, row.next_attempt);
    }
    const bool follows = row.state == DeliveryState::waiting || (row.state == DeliveryState::dead && row.holds_key);
    if (follows || !passed(message)) parking.counts.concerns_stream = true;
  }
  return parking;
}

Result<PageFacts> SimStore::page_facts(const std::string& sink, const std::vector<std::string>& keys,
                                       const std::vector<std::string>& message_ids) {
  PageFacts facts;
  for (const auto& key : keys) {
    const auto rows = of_key(sink, key);
    const bool waits = std::any_of(rows.begin(), rows.end(), [&](const Row* row) {
      if (row->state == DeliveryState::waiting) return !waits_for_its_time(*row);
      return row->state == DeliveryState::dead && row->holds_key;
    });
    if (waits) facts.waiting_keys.push_back(key);
  }
  for (const auto& id : message_ids) {
    if (find(database_.message(id).index, sink) != nullptr) facts.known_messages.push_back(id);
  }
  return facts;
}

Result<std::int64_t> SimStore::prune(const std::vector<Feed>&, const Retention&, std::int64_t max_rows, bool) {
  std::int64_t removed = 0;
  for (auto& message : database_.messages()) {
    if (removed == max_rows) break;
    if (!message.committed || message.removed) continue;
    // On PostgreSQL only what stands below the xmin of S1 goes; what is merely ahead stays in every mode.
    const bool behind = scenario_.mode == Mode::mark ? message.marked
                        : scenario_.mode == Mode::cursor
                            ? message.seq <= position_of(message).seq
                            : message.xid < database_.parse(position_of(message).from).xmin;
    if (!behind) continue;
    message.removed = true;
    ++removed;
  }
  drop_tombstones();
  return removed;
}

void SimStore::discard(Row& row) {
  row.state = DeliveryState::settled;
  row.changed_at = database_.now();
  const auto& message = database_.messages()[static_cast<std::size_t>(row.message)];
  trace_("operator discards {} at {}", message.id, row.sink);
  witness_.discarded(row.sink, message);
}

void SimStore::requeue(Row& row, bool edited) {
  row.state = DeliveryState::waiting;
  row.next_attempt = database_.now();
  row.attempts = 0;
  row.not_due = false;
  row.changed_at = database_.now();
  row.reason = "requeued";
  row.charged = true;
  row.holds_key = false;
  ++row.replays;
  if (edited) ++row.version;
  const auto& message = database_.messages()[static_cast<std::size_t>(row.message)];
  trace_("operator requeues {} at {}{}", message.id, row.sink, edited ? ", edited" : "");
  witness_.requeued(row.sink, message, edited);
}

bool SimStore::requeue(Walk& walk, std::size_t max_rows) {
  std::size_t met = 0;
  for (Row& row : rows_) {
    if (row.sink != walk.sink || row.state != DeliveryState::dead) continue;
    if (row.ord <= walk.ord || row.changed_at > walk.until) continue;
    if (met++ == max_rows) return true;
    walk.ord = row.ord;
    if (row.replays < kReplaysMax) requeue(row, false);
  }
  return false;
}

}  // namespace outbox::sim
