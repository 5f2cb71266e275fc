// The runner with its real threads, between an outbox and a broker in memory: what the simulator cannot show, because
// it has no threads. Run under ThreadSanitizer, too.
#include "relay/runner.h"

#include <gtest/gtest.h>

#include <map>
#include <mutex>
#include <set>

#include "support/eventually.h"
#include "support/fake_sink.h"
#include "support/memory_outbox.h"

namespace outbox::test {
namespace {

class CountingObserver : public RelayObserver {
 public:
  void confirmed(const std::string&, Duration, Duration) override { ++confirmations; }
  void attempted(const std::string&, Verdict) override { ++attempts; }
  void dead(const std::string&, const std::string& reason) override {
    const std::lock_guard lock(mutex_);
    reasons_.insert(reason);
  }
  void polled(Duration) override { ++polls; }
  void breaker_changed(const std::string&, BreakerState) override { ++transitions; }

  std::set<std::string> reasons() const {
    const std::lock_guard lock(mutex_);
    return reasons_;
  }
  std::atomic<int> confirmations = 0;
  std::atomic<int> attempts = 0;
  std::atomic<int> polls = 0;
  std::atomic<int> transitions = 0;

 private:
  mutable std::mutex mutex_;
  std::set<std::string> reasons_;
};

class RunnerTest : public ::testing::Test {
 protected:
  static constexpr int kKeys = 50;

  void insert(int count) {
    for (int i = 0; i < count; ++i) {
      Record record;
      record.id = "m-" + std::to_string(inserted_);
      record.aggregate_type = "order";
      record.aggregate_id = std::to_string(inserted_ % kKeys);
      record.type = "Paid";
      record.payload = "{}";
      outbox_.insert(record);
      ++inserted_;
    }
  }

  std::unique_ptr<Runner> start(const std::string& relay = "one") {
    CoreOptions core;
    core.feed = {"events", {"events"}, true, true};
    core.page_records = 100;
    core.window_records = 500;
    core.poll_idle = Duration(10ms);
    FeedParts parts{outbox_.source(), outbox_.store(), {}};
    parts.sinks.push_back(make_fake_sink(broker_));
    core.sinks = {{"events", parts.sinks[0]->capabilities(), {10ms, 100ms, 3}, {5, 20ms, 100ms}, 1000}};
    Route route;
    route.sink = "events";
    route.address = "topic";
    auto router = std::make_shared<const Router>(std::vector<Route>{route});
    auto runner = std::make_unique<Runner>(core, router, std::move(parts), RunnerOptions{relay, 1s, 1}, observer_);
    EXPECT_TRUE(runner->start());
    return runner;
  }

  RunnerEnd end_of(Runner& runner) { return runner.wait_until(std::chrono::steady_clock::now() + 30s); }

  std::size_t distinct_arrivals() const {
    std::set<std::string> ids;
    for (const auto& arrival : broker_.arrivals()) ids.insert(arrival.record->id);
    return ids.size();
  }

  // First arrivals of each key come in the order of their seq.
  void expect_order() const {
    std::map<std::string, std::int64_t> last;
    std::set<std::string> seen;
    for (const auto& arrival : broker_.arrivals()) {
      if (!seen.insert(arrival.record->id).second) continue;
      EXPECT_LT(last[arrival.record->key], arrival.record->seq) << arrival.record->id;
      last[arrival.record->key] = arrival.record->seq;
    }
  }

  MemoryOutbox outbox_;
  FakeBroker broker_;
  CountingObserver observer_;
  int inserted_ = 0;
};

TEST_F(RunnerTest, DeliversEverythingOnceAndInOrder) {
  insert(3000);
  auto runner = start();
  insert(1000);
  ASSERT_TRUE(eventually(30s, [&] { return broker_.arrivals().size() >= 4000; }));
  runner->stop();
  EXPECT_EQ(end_of(*runner), RunnerEnd::stopped);
  EXPECT_EQ(broker_.arrivals().size(), 4000u);
  EXPECT_EQ(outbox_.unsettled("events"), 0u);
  EXPECT_EQ(observer_.confirmations.load(), 4000);
  expect_order();
}

TEST_F(RunnerTest, DrainEndsByItself) {
  insert(700);
  broker_.refuse("m-3");
  auto runner = start();
  runner->drain();
  EXPECT_EQ(end_of(*runner), RunnerEnd::drained);
  EXPECT_EQ(distinct_arrivals(), 699u);
  EXPECT_EQ(runner->view().sinks[0].died, 1u);
  EXPECT_EQ(observer_.reasons(), std::set<std::string>{"refused"});
}

TEST_F(RunnerTest, WaitsForADatabaseThatIsAway) {
  std::atomic<bool> away = true;
  outbox_.set_fault([&](const std::string&) -> Result<void> {
    if (away) return Failure{FailureKind::unavailable, "connection refused"};
    return {};
  });
  insert(50);
  auto runner = start();
  ASSERT_TRUE(eventually(10s, [&] { return !runner->view().database_error.empty(); }));
  EXPECT_FALSE(runner->view().reading);
  away = false;
  EXPECT_TRUE(eventually(30s, [&] { return distinct_arrivals() == 50; }));
  EXPECT_TRUE(eventually(10s, [&] { return runner->view().reading; }));
}

TEST_F(RunnerTest, WrongCredentialsEndIt) {
  outbox_.set_fault([](const std::string&) -> Result<void> { return Failure{FailureKind::refused, "password"}; });
  auto runner = start();
  EXPECT_EQ(end_of(*runner), RunnerEnd::failed);
  EXPECT_EQ(runner->failure().kind, FailureKind::refused);
}

TEST_F(RunnerTest, ADatabaseThatComesAndGoesLosesNothing) {
  std::atomic<int> calls = 0;
  outbox_.set_fault([&](const std::string&) -> Result<void> {
    if (++calls % 17 == 0) return Failure{FailureKind::unavailable, "connection lost"};
    return {};
  });
  insert(500);
  auto runner = start();
  for (int i = 0; i < 5; ++i) insert(100);
  EXPECT_TRUE(eventually(60s, [&] { return distinct_arrivals() == 1000; }));
  outbox_.set_fault({});
  runner->stop();
  EXPECT_EQ(end_of(*runner), RunnerEnd::stopped);
  expect_order();
}

TEST_F(RunnerTest, ABrokerThatIsDownKillsNobody) {
  broker_.set_mode(FakeBroker::Mode::down);
  insert(200);
  auto runner = start();
  ASSERT_TRUE(eventually(10s, [&] { return runner->view().sinks[0].breaker != BreakerState::closed; }));
  broker_.set_mode(FakeBroker::Mode::up);
  EXPECT_TRUE(eventually(30s, [&] { return distinct_arrivals() == 200; }));
  runner->stop();
  EXPECT_EQ(end_of(*runner), RunnerEnd::stopped);
  EXPECT_EQ(runner->view().sinks[0].died, 0u);
  EXPECT_GT(observer_.transitions.load(), 0);
  expect_order();
}

// An hour back, and then forward again, while messages fail and are tried again.
TEST_F(RunnerTest, ADatabaseClockThatIsSetStallsNothing) {
  insert(200);
  auto runner = start();
  ASSERT_TRUE(eventually(30s, [&] { return distinct_arrivals() == 200; }));
  outbox_.advance(-1h);
  insert(200);
  ASSERT_TRUE(eventually(30s, [&] { return distinct_arrivals() == 400; }));
  broker_.set_mode(FakeBroker::Mode::down);
  insert(200);
  ASSERT_TRUE(eventually(30s, [&] { return runner->view().sinks[0].breaker != BreakerState::closed; }));
  outbox_.advance(2h);
  broker_.set_mode(FakeBroker::Mode::up);
  ASSERT_TRUE(eventually(30s, [&] { return distinct_arrivals() == 600; }));
  broker_.set_mode(FakeBroker::Mode::down);
  insert(200);
  ASSERT_TRUE(eventually(30s, [&] { return runner->view().sinks[0].breaker != BreakerState::closed; }));
  outbox_.advance(-1h);
  broker_.set_mode(FakeBroker::Mode::up);
  ASSERT_TRUE(eventually(30s, [&] { return distinct_arrivals() == 800; }));
  runner->stop();
  EXPECT_EQ(end_of(*runner), RunnerEnd::stopped);
  EXPECT_EQ(runner->view().sinks[0].died, 0u);
  EXPECT_EQ(outbox_.unsettled("events"), 0u);
  expect_order();
}

TEST_F(RunnerTest, ASecondRelayFencesTheFirst) {
  insert(10);
  auto first = start("first");
  ASSERT_TRUE(eventually(10s, [&] { return outbox_.unsettled("events") == 0; }));
  auto second = start("second");
  ASSERT_TRUE(eventually(10s, [&] { return second->view().reading; }));
  insert(100);
  EXPECT_EQ(end_of(*first), RunnerEnd::fenced);
  EXPECT_TRUE(eventually(30s, [&] { return distinct_arrivals() == 110; }));
  EXPECT_EQ(second->end(), RunnerEnd::running);
}

TEST_F(RunnerTest, StopWithMessagesInFlightEndsAtTheDeadline) {
  broker_.set_mode(FakeBroker::Mode::hold);
  insert(20);
  auto runner = start();
  ASSERT_TRUE(eventually(10s, [&] { return runner->view().sinks[0].in_flight > 0; }));
  runner->stop();
  runner->stop();
  EXPECT_EQ(end_of(*runner), RunnerEnd::stopped);
  EXPECT_EQ(outbox_.unsettled("events"), 20u);
}

// Others have succeeded since it was sent: an answer would be its own fault, but a stop is not an answer.
TEST_F(RunnerTest, AStopUsesNoAttemptOfWhatIsInFlight) {
  broker_.hold("m-19");
  insert(20);
  auto runner = start();
  ASSERT_TRUE(eventually(10s, [&] { return distinct_arrivals() == 19; }));
  runner->stop();
  EXPECT_EQ(end_of(*runner), RunnerEnd::stopped);
  const SinkView sink = runner->view().sinks[0];
  EXPECT_EQ(sink.retried, 0u);
  EXPECT_EQ(sink.died, 0u);
  EXPECT_EQ(outbox_.unsettled("events"), 1u);
}

}  // namespace
}  // namespace outbox::test
