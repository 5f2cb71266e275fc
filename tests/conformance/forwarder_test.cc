// The forwarder with its real threads, between dead letters and a broker in memory. Run under ThreadSanitizer, too.
#include "relay/forwarder.h"

#include <gtest/gtest.h>

#include <set>

#include "support/eventually.h"
#include "support/fake_sink.h"

namespace outbox::test {
namespace {

// What a table would hold. Thread-safe, and outlives its stores.
class DeadLetters {
 public:
  void add(const std::string& key) {
    const std::lock_guard lock(mutex_);
    auto record = std::make_shared<Record>();
    const auto row = static_cast<std::int64_t>(dead_.size()) + 1;
    record->id = "m-" + std::to_string(row);
    record->key = key;
    record->payload = "{}";
    dead_.push_back({{Time(Duration(row)), row, row}, record, "events", "", "http_422", "no", 1});
  }
  std::size_t marked() const {
    const std::lock_guard lock(mutex_);
    return marked_.size();
  }
  std::string refusal(std::int64_t row) const {
    const std::lock_guard lock(mutex_);
    const auto found = marked_.find(row);
    return found == marked_.end() ? "" : found->second;
  }
  // Another relay takes over.
  void fence() {
    const std::lock_guard lock(mutex_);
    ++epoch_;
    fenced_ = true;
  }

  std::unique_ptr<ForwardingStore> store();

 private:
  class Store;
  mutable std::mutex mutex_;
  std::vector<DeadLetter> dead_;
  std::map<std::int64_t, std::string> marked_;
  std::uint64_t epoch_ = 0;
  bool fenced_ = false;
};

class DeadLetters::Store : public ForwardingStore {
 public:
  explicit Store(DeadLetters& table) : table_(table) {}

  Result<std::uint64_t> take_over(const std::string&) override {
    const std::lock_guard lock(table_.mutex_);
    if (table_.fenced_) return Failure{FailureKind::fenced, "another relay has it"};
    return ++table_.epoch_;
  }
  Result<std::vector<DeadLetter>> next(const DeathPlace& after, std::size_t max_rows, std::size_t) override {
    const std::lock_guard lock(table_.mutex_);
    std::vector<DeadLetter> found;
    for (const DeadLetter& each : table_.dead_) {
      if (each.place.row > after.row && !table_.marked_.contains(each.place.row) && found.size() < max_rows) {
        found.push_back(each);
      }
    }
    return found;
  }
  Result<void> mark(std::uint64_t epoch, const std::vector<Forwarded>& forwarded) override {
    const std::lock_guard lock(table_.mutex_);
    if (epoch != table_.epoch_) return Failure{FailureKind::fenced, "another relay has it"};
    for (const Forwarded& each : forwarded) table_.marked_[each.row] = each.refusal;
    return {};
  }
  Result<std::int64_t> left() override {
    const std::lock_guard lock(table_.mutex_);
    return static_cast<std::int64_t>(table_.dead_.size() - table_.marked_.size());
  }

 private:
  DeadLetters& table_;
};

std::unique_ptr<ForwardingStore> DeadLetters::store() { return std::make_unique<Store>(*this); }

class ForwarderTest : public testing::Test {
 protected:
  std::unique_ptr<Forwarder> start(std::shared_ptr<const Lease> lease = {}) {
    ForwarderOptions options;
    options.relay = "one";
    options.sink = "graveyard";
    options.route.sink = "graveyard";
    options.route.address = "dead";
    options.retry = {10ms, 50ms, 3};
    options.drain_timeout = 100ms;
    options.look_every = 10ms;
    options.lease = std::move(lease);
    auto forwarder =
        std::make_unique<Forwarder>(dead_.store(), make_fake_sink(broker_), std::move(options),
                                    Forwarder::Hooks{[this](const Forwarded&) { ++forwarded_; }, [](std::int64_t) {}});
    EXPECT_TRUE(forwarder->start());
    return forwarder;
  }
  bool wait_until_marked(std::size_t count) {
    return eventually(30s, [&] { return dead_.marked() == count; });
  }
  void add(int count, int keys) {
    for (int i = 0; i < count; ++i) dead_.add("k" + std::to_string(i % keys));
  }

  DeadLetters dead_;
  FakeBroker broker_;
  std::atomic<int> forwarded_ = 0;
};

TEST_F(ForwarderTest, CopiesAllOnceAndInTheOrderOfTheirKeys) {
  add(500, 7);
  auto forwarder = start();
  ASSERT_TRUE(wait_until_marked(500));
  add(10, 1);
  ASSERT_TRUE(wait_until_marked(510));
  std::map<std::string, int> last;
  const auto arrivals = broker_.arrivals();
  EXPECT_EQ(arrivals.size(), 510u);
  for (const auto& arrival : arrivals) {
    const int number = std::stoi(arrival.record->id.substr(2));
    EXPECT_GT(number, last[arrival.record->key]);
    last[arrival.record->key] = number;
  }
  EXPECT_TRUE(eventually(30s, [&] { return forwarded_ == 510; }));
}

TEST_F(ForwarderTest, WaitsWhileTheSinkIsAwayAndSkipsWhatItRefuses) {
  add(20, 20);
  broker_.set_mode(FakeBroker::Mode::down);
  broker_.refuse("m-3");
  auto forwarder = start();
  EXPECT_EQ(dead_.marked(), 0u);
  broker_.set_mode(FakeBroker::Mode::up);
  ASSERT_TRUE(wait_until_marked(20));
  EXPECT_EQ(dead_.refusal(3).substr(0, 7), "refused");
  EXPECT_EQ(broker_.arrivals().size(), 19u);
}

TEST_F(ForwarderTest, WhatWasInFlightWhenTheLeaseRanOutIsTakenBack) {
  add(1, 1);
  broker_.set_mode(FakeBroker::Mode::hold);
  auto lease = std::make_shared<Lease>();
  lease->renewed(Lease::now(), 300ms);
  auto forwarder = start(lease);
  ASSERT_TRUE(eventually(30s, [&] { return lease->term() == 0; }));
  lease->renewed(Lease::now(), std::chrono::hours(1));
  broker_.set_mode(FakeBroker::Mode::up);
  ASSERT_TRUE(wait_until_marked(1));
  EXPECT_LE(broker_.arrivals().size(), 2u);
  EXPECT_EQ(forwarder->end(), RunnerEnd::running);
}

TEST_F(ForwarderTest, SendsNothingBeforeTheClientHasGivenEverythingBack) {
  add(1, 1);
  broker_.set_mode(FakeBroker::Mode::hold);
  broker_.fail_reopens(3);
  auto lease = std::make_shared<Lease>();
  lease->renewed(Lease::now(), 300ms);
  auto forwarder = start(lease);
  ASSERT_TRUE(eventually(30s, [&] { return lease->term() == 0; }));
  broker_.set_mode(FakeBroker::Mode::up);
  lease->renewed(Lease::now(), std::chrono::hours(1));
  ASSERT_TRUE(wait_until_marked(1));
  EXPECT_EQ(broker_.arrivals().size(), 1u);
  EXPECT_EQ(forwarder->end(), RunnerEnd::running);
}

TEST_F(ForwarderTest, EndsWhenAnotherRelayHasTakenOver) {
  auto forwarder = start();
  add(1, 1);
  ASSERT_TRUE(wait_until_marked(1));
  dead_.fence();
  add(1, 1);
  ASSERT_TRUE(eventually(30s, [&] { return forwarder->end() == RunnerEnd::fenced; }));
  EXPECT_EQ(dead_.marked(), 1u);
}

TEST_F(ForwarderTest, StopsAlthoughTheSinkDoesNotAnswer) {
  add(3, 3);
  broker_.set_mode(FakeBroker::Mode::hold);
  auto forwarder = start();
  forwarder->stop();
  EXPECT_TRUE(eventually(30s, [&] { return forwarder->end() == RunnerEnd::stopped; }));
  EXPECT_EQ(dead_.marked(), 0u);
}

}  // namespace
}  // namespace outbox::test
