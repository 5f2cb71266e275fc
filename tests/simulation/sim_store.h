// SimStore: the relay's side tables in memory, with the meaning that store/store.h gives them. Every call takes effect
// at once and never fails but for the fence; delays, failures and doubt are the driver's (relay.h).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "database.h"
#include "sim_leases.h"
#include "store/store.h"
#include "witness.h"

namespace outbox::sim {

class SimStore final : public Store {
 public:
  struct Row {
    std::int64_t row = 0;
    int message = 0;
    std::string sink;
    std::string key;
    DeliveryState state = DeliveryState::waiting;  // settled: done, a tombstone
    std::int64_t ord = 0;
    int attempts = 0;
    Time next_attempt{};
    bool charged = false;
    bool not_due = false;
    bool holds_key = false;
    std::string reason;
    int version = 1;  // of the payload; an edit raises it
    int replays = 0;
    Time changed_at{};
    Time failing_since{};
  };

  SimStore(const Scenario& scenario, Database& database, Loop& loop, SimLeases& leases, Witness& witness, Trace& trace);

  Result<FeedState> take_over(const Feed& feed, const std::string& relay) override;
  Result<void> settle(const Feed& feed, std::uint64_t epoch, const SettleBatch& batch) override;
  Result<std::vector<ParkedRun>> due(const std::string& sink, const Lanes& lanes, std::size_t max_keys,
                                     std::size_t run_max, const std::vector<std::string>& except) override;
  Result<Parking> parking(const std::string& sink, const Lanes& lanes) override;
  Result<PageFacts> page_facts(const std::string& sink, const std::vector<std::string>& keys,
                               const std::vector<std::string>& message_ids) override;
  Result<void> heartbeat(const Heartbeat&) override { return {}; }
  Result<StoreStatus> status(const std::vector<Feed>&) override { return StoreStatus{}; }
  Result<std::vector<SinkPause>> pauses() override { return std::vector<SinkPause>{}; }
  Result<std::int64_t> prune(const std::vector<Feed>& feeds, const Retention& retention, std::int64_t max_rows,
                             bool dry_run) override;

  // From now on it takes everything.
  void heal() { refuses_ = false; }

  // The operator's hand.
  void discard(Row& row);
  void requeue(Row& row, bool edited);
  // A walk through the dead letters of a sink in their order, a transaction a step, as OperatorStore::requeue() does
  // it.
  struct Walk {
    std::string sink;
    Time until{};
    std::int64_t ord = 0;
  };
  Walk begin_walk(const std::string& sink) const { return {sink, database_.now(), 0}; }
  // False: nothing is left.
  bool requeue(Walk& walk, std::size_t max_rows);

  std::vector<Row>& rows() { return rows_; }
  const std::vector<Row>& rows() const { return rows_; }
  const Row* find(int message, const std::string& sink) const;
  // The stream will not bring the message again.
  bool passed(const Message& message) const;

 private:
  const Message* refused(const SettleBatch& batch) const;
  void park(const Park& park, const Lanes& lanes);
  void update(const ParkedUpdate& update);
  const Position& position_of(const Message& message) const { return leases_.of_lane(message.lane).position; }
  void drop_tombstones();
  bool waits_for_its_time(const Row& row) const;
  std::vector<const Row*> of_key(const std::string& sink, const std::string& key) const;
  // The rows of one key that may be tried now, in ord.
  std::vector<const Row*> triable(const std::vector<const Row*>& rows) const;

  const Scenario& scenario_;
  Database& database_;
  Loop& loop_;
  SimLeases& leases_;
  Witness& witness_;
  Trace& trace_;
  std::vector<Row> rows_;  // in ord
  std::int64_t next_row_ = 1;
  bool refuses_ = true;
};

}  // namespace outbox::sim
