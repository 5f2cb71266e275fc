// The store conformance suite: what store/store.h promises, tried on every store on a real database. A store's test
// program lists store_conformance.cc among its sources and instantiates the suite:
//
//   INSTANTIATE_TEST_SUITE_P(Sqlite, StoreConformance, testing::Values(StoreType{"sqlite", make_bench}), store_name);
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "store/forwarding_store.h"
#include "store/operator_store.h"
#include "store/store.h"

namespace outbox::test {

// A fresh database with our tables. One per test.
class StoreBench {
 public:
  virtual ~StoreBench() = default;

  // Another relay's store on the same database.
  virtual std::unique_ptr<Store> make_store() = 0;
  // Gives the relay a lease on the feed, where this database keeps leases.
  virtual void lease(const std::string& /*relay*/, const std::string& /*feed*/) {}
  // What people use beside it; null: this database has none.
  virtual std::unique_ptr<OperatorStore> make_operator() { return nullptr; }
  virtual std::unique_ptr<ForwardingStore> make_forwarding() { return nullptr; }
  // Commits a message of aggregate type "order" in a transaction of its own, and returns it as a source reads it.
  virtual RecordPtr insert(const std::string& aggregate_id) = 0;
  // Where a sink stands that has settled all that is committed by now.
  virtual Position after_all() = 0;
  // Rows in the outbox table.
  virtual std::int64_t rows() = 0;
};

struct StoreType {
  std::string name;
  // Null, and `skipped` says why: this database is not there.
  std::function<std::unique_ptr<StoreBench>(std::string& skipped)> make;
};

inline std::string store_name(const testing::TestParamInfo<StoreType>& info) { return info.param.name; }

class StoreConformance : public testing::TestWithParam<StoreType> {
 protected:
  void SetUp() override;

  FeedState take_over(Store& store, const Feed& feed);
  void settle(const SettleBatch& batch);  // with store_, feed_ and the epoch of the last take_over()
  Result<void> try_settle(const SettleBatch& batch);
  void park(std::vector<Park> parks);
  std::vector<ParkedRun> due(std::size_t max_keys = 10, std::size_t run_max = 10,
                             const std::vector<std::string>& except = {});
  Store::Parking parking();
  PageFacts facts(const std::vector<RecordPtr>& records);
  StoreStatus status();
  void update(std::int64_t row, ParkedUpdate::Kind kind, Duration wait = {}, bool holds_key = false, int replays = 0);

  Park waiting(const RecordPtr& record, Duration wait = -1s) const;
  Park behind(const RecordPtr& record) const;
  Park dead(const RecordPtr& record, bool holds_key = false) const;

  std::unique_ptr<StoreBench> bench_;
  std::unique_ptr<Store> store_;
  Feed feed_{"events", {"events"}, true, true};
  FeedState state_;
};

}  // namespace outbox::test
