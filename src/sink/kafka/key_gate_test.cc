#include "sink/kafka/key_gate.h"

#include <gtest/gtest.h>

namespace outbox::kafka {
namespace {

using namespace std::chrono_literals;

Record record(const std::string& id, const std::string& key) {
  Record made;
  made.id = id;
  made.key = key;
  return made;
}

class KeyGateTest : public ::testing::Test {
 protected:
  bool passes(const std::string& id, const std::string& key = "a") { return gate_.passes(record(id, key), false); }
  void give_back(const std::string& id, const std::string& key = "a") { gate_.given_back(record(id, key), now_); }

  KeyGate gate_;
  KeyGate::Clock::time_point now_{100s};
};

TEST_F(KeyGateTest, IsOpenUntilSomethingIsGivenBack) { EXPECT_TRUE(passes("1")); }

TEST_F(KeyGateTest, WhatTheRelaySendsBeforeItHasHeardDoesNotPass) {
  give_back("1");
  EXPECT_FALSE(passes("2"));
  EXPECT_TRUE(passes("9", "b"));
  give_back("2");
  EXPECT_TRUE(passes("1"));
  EXPECT_FALSE(passes("3"));  // it may not have heard of 2
  give_back("3");
  EXPECT_TRUE(passes("2"));
  EXPECT_TRUE(passes("3"));
  EXPECT_TRUE(passes("4"));
  EXPECT_EQ(gate_.size(), 0u);
}

TEST_F(KeyGateTest, WhatTheRelayHasParkedHoldsNobody) {
  give_back("1");
  EXPECT_FALSE(passes("2"));
  give_back("2");
  EXPECT_TRUE(passes("2"));  // and not 1, of which it has heard before
  EXPECT_TRUE(passes("3"));
}

TEST_F(KeyGateTest, GivenBackAgainAndAgainInTheSameOrder) {
  give_back("1");
  give_back("2");
  for (const char* id : {"1", "2", "1", "2"}) {
    EXPECT_TRUE(passes(id)) << id;
    give_back(id);
  }
  EXPECT_TRUE(passes("1"));
  EXPECT_FALSE(passes("3"));
}

TEST_F(KeyGateTest, WhatIsConfirmedAfterAllHoldsNobody) {
  give_back("1");
  give_back("2");
  gate_.confirmed(record("1", "a"));
  EXPECT_FALSE(passes("3"));  // 2 has not come again
  give_back("3");
  EXPECT_TRUE(passes("2"));
  EXPECT_TRUE(passes("3"));
  give_back("4");
  gate_.confirmed(record("4", "a"));
  EXPECT_TRUE(passes("5"));
  EXPECT_EQ(gate_.size(), 0u);
}

TEST_F(KeyGateTest, TheFirstOfAKeyShowsThatTheRelayHasHeardOfAll) {
  give_back("1");
  give_back("2");
  EXPECT_TRUE(gate_.passes(record("3", "a"), true));
  EXPECT_TRUE(passes("4"));
  EXPECT_EQ(gate_.size(), 0u);
}

TEST_F(KeyGateTest, ForgetsKeysOfWhichNothingComes) {
  for (int i = 0; i < 20'000; ++i) give_back("1", std::to_string(i));
  now_ += 1min;
  give_back("1");
  EXPECT_EQ(gate_.size(), 1u);
}

}  // namespace
}  // namespace outbox::kafka
