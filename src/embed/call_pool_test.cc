#include "embed/call_pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>

#include "support/completion_log.h"

namespace outbox {
namespace {

using test::CompletionLog;
using test::make_record;
using test::publication;

// Calls stay inside until the test lets them go.
class Gate : public MessageSink {
 public:
  ~Gate() override = default;

  DeliveryOutcome deliver(const OutboundMessage& message) override {
    std::unique_lock lock(mutex_);
    begun_.push_back(message.id);
    most_ = std::max(most_, ++inside_);
    changed_.notify_all();
    changed_.wait(lock, [&] { return passes_ > 0; });
    --passes_;
    --inside_;
    return DeliveryOutcome::delivered();
  }

  void let(int calls) {
    const std::lock_guard lock(mutex_);
    passes_ += calls;
    changed_.notify_all();
  }
  // Waits until so many calls have begun, and returns all of them.
  std::vector<std::string> begun(std::size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds(60), [&] { return begun_.size() >= count; });
    return begun_;
  }
  int most_at_once() {
    const std::lock_guard lock(mutex_);
    return most_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> begun_;
  int inside_ = 0;
  int most_ = 0;
  int passes_ = 0;
};

class CallPoolTest : public ::testing::Test {
 protected:
  // Message number n goes as delivery n.
  void post(CallPool& pool, int number, const std::string& key, CompletionLog& log) {
    const Publication one = publication(static_cast<DeliveryId>(number), make_record(number, key), "mail");
    pool.post(log, {&one, 1});
  }

  std::shared_ptr<Gate> gate_ = std::make_shared<Gate>();
  CompletionLog log_;
};

TEST_F(CallPoolTest, NoMoreCallsAtOnceThanAllowed) {
  CallPool pool(gate_, 2);
  for (int n = 0; n < 20; ++n) post(pool, n, std::to_string(n), log_);
  gate_->let(20);
  ASSERT_TRUE(log_.wait(20));
  EXPECT_LE(gate_->most_at_once(), 2);
  EXPECT_EQ(log_.count(Verdict::delivered), 20u);
}

TEST_F(CallPoolTest, OneThreadKeepsTheOrderOfAll) {
  CallPool pool(gate_, 1);
  for (int n = 0; n < 5; ++n) post(pool, n, std::to_string(n), log_);
  gate_->let(5);
  ASSERT_TRUE(log_.wait(5));
  EXPECT_EQ(gate_->begun(5), (std::vector<std::string>{"m-0", "m-1", "m-2", "m-3", "m-4"}));
}

TEST_F(CallPoolTest, AKeyIsCalledOneAfterTheOther) {
  CallPool pool(gate_, 2);
  post(pool, 1, "a", log_), post(pool, 2, "a", log_), post(pool, 3, "b", log_);
  EXPECT_EQ(gate_->begun(2).size(), 2u);
  EXPECT_EQ(std::ranges::count(gate_->begun(2), "m-2"), 0);
  gate_->let(3);
  ASSERT_TRUE(log_.wait(3));
}

TEST_F(CallPoolTest, WhatIsTakenBackIsCompletedOnceAndNotCalled) {
  CallPool pool(gate_, 1);
  post(pool, 1, "a", log_), post(pool, 2, "b", log_);
  gate_->begun(1);
  pool.take_back(log_, unknown("closed", ""));
  EXPECT_EQ(log_.count(Verdict::unknown), 2u);
  gate_->let(1);
  post(pool, 3, "c", log_);
  gate_->let(1);
  ASSERT_TRUE(log_.wait(3));
  EXPECT_EQ(gate_->begun(2), (std::vector<std::string>{"m-1", "m-3"}));
  EXPECT_EQ(log_.completed_twice(), 0u);
}

// The call runs on, although nobody waits for it: its key must not get another one beside it.
TEST_F(CallPoolTest, AKeyWaitsForACallThatWasGivenUp) {
  CallPool pool(gate_, 2);
  post(pool, 1, "a", log_);
  gate_->begun(1);
  pool.take_back(log_, client_dead("taken_back", ""));
  post(pool, 11, "a", log_), post(pool, 2, "b", log_);
  EXPECT_EQ(gate_->begun(2), (std::vector<std::string>{"m-1", "m-2"}));
  gate_->let(3);
  ASSERT_TRUE(log_.wait(3));
  EXPECT_EQ(gate_->begun(3).back(), "m-11");
}

TEST_F(CallPoolTest, WhatIsAnothersStays) {
  CompletionLog other;
  CallPool pool(gate_, 1);
  post(pool, 1, "a", log_), post(pool, 2, "b", other);
  gate_->begun(1);
  pool.take_back(log_, unknown("closed", ""));
  gate_->let(2);
  ASSERT_TRUE(other.wait(1));
  EXPECT_EQ(other.count(Verdict::delivered), 1u);
}

TEST_F(CallPoolTest, ItsEndWaitsForTheCallsThatRun) {
  std::weak_ptr<Gate> alive = gate_;
  {
    CallPool pool(gate_, 1);
    post(pool, 1, "a", log_);
    gate_->begun(1);
    gate_->let(1);
    gate_.reset();
  }
  EXPECT_TRUE(alive.expired());
  EXPECT_EQ(log_.count(Verdict::delivered), 1u);
}

}  // namespace
}  // namespace outbox
