#include "support/fault_pipe.h"

#include <gtest/gtest.h>

namespace outbox::test {
namespace {

using namespace std::chrono_literals;

class Pipe : public testing::Test {
 protected:
  // All that may go on now.
  std::string take() {
    std::string taken;
    for (auto part = pipe_.ready(now_, fault_); !part.empty(); part = pipe_.ready(now_, fault_)) {
      taken += part;
      pipe_.pop(part.size(), now_, fault_);
    }
    return taken;
  }
  void push(std::string_view bytes) { pipe_.push(bytes, now_, fault_); }

  FaultPipe pipe_;
  LinkFault fault_;
  FaultPipe::Time now_{1h};
};

TEST_F(Pipe, PassesAllAtOnceInOrder) {
  push("one ");
  push("two");
  EXPECT_EQ(take(), "one two");
  EXPECT_TRUE(pipe_.empty());
  EXPECT_FALSE(pipe_.next(now_, fault_));
}

TEST_F(Pipe, DelaysWithoutOvertaking) {
  fault_.delay = 200ms;
  push("slow ");
  fault_.delay = 0ms;
  now_ += 50ms;
  push("fast");
  EXPECT_EQ(take(), "");
  EXPECT_EQ(pipe_.next(now_, fault_), FaultPipe::Time(1h + 200ms));
  now_ += 149ms;
  EXPECT_EQ(take(), "");
  now_ += 1ms;
  EXPECT_EQ(take(), "slow fast");
}

TEST_F(Pipe, HoldsAndGoesOn) {
  fault_.hold = true;
  push("held");
  now_ += 1h;
  EXPECT_EQ(take(), "");
  EXPECT_FALSE(pipe_.next(now_, fault_));
  fault_.hold = false;
  EXPECT_EQ(take(), "held");
}

TEST_F(Pipe, LetsNoMorePassThanItsRate) {
  fault_.bytes_per_second = 1000;
  push(std::string(500, 'x'));
  std::size_t passed = 0;
  for (int i = 0; i < 10; ++i) {  // 50 bytes each 50 ms
    passed += take().size();
    EXPECT_EQ(passed, 50u * (static_cast<std::size_t>(i) + 1));
    const auto next = pipe_.next(now_, fault_);
    if (passed == 500) break;
    ASSERT_TRUE(next);
    EXPECT_EQ(*next - now_, 50ms);
    now_ = *next;
  }
  EXPECT_EQ(passed, 500u);
}

TEST_F(Pipe, IsFullUntilSomethingGoesOn) {
  fault_.hold = true;
  const std::string block(64 * 1024, 'x');
  for (int i = 0; i < 4; ++i) {
    EXPECT_FALSE(pipe_.full());
    push(block);
  }
  EXPECT_TRUE(pipe_.full());
  fault_.hold = false;
  pipe_.pop(pipe_.ready(now_, fault_).size(), now_, fault_);
  EXPECT_FALSE(pipe_.full());
}

}  // namespace
}  // namespace outbox::test
