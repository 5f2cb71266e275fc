#include "sink/nats/unconfirmed.h"

#include <gtest/gtest.h>

namespace outbox::nats {
namespace {

using namespace std::chrono_literals;
using Ids = std::vector<DeliveryId>;

class UnconfirmedTest : public testing::Test {
 protected:
  void add(DeliveryId id, const std::string& subject = "a") {
    held_.add({id, std::make_shared<const Record>(), subject});
  }
  static Clock::time_point at(int seconds) { return Clock::time_point(std::chrono::seconds(seconds)); }

  Unconfirmed held_;
};

TEST_F(UnconfirmedTest, SendsInTheOrderOfArrival) {
  add(1);
  add(2);
  EXPECT_EQ(held_.send_next(at(1)).id, 1u);
  EXPECT_TRUE(held_.has_waiting());
  EXPECT_EQ(held_.send_next(at(1)).id, 2u);
  EXPECT_FALSE(held_.has_waiting());
}

TEST_F(UnconfirmedTest, KnowsWhichMessageIsAnswered) {
  Record record;
  record.id = "m-1";
  held_.add({1, std::make_shared<const Record>(record), "a"});
  held_.send_next(at(1));
  EXPECT_EQ(held_.message_of(1), "m-1");
  EXPECT_TRUE(held_.take(1));
  EXPECT_EQ(held_.message_of(1), "");
}

TEST_F(UnconfirmedTest, AnAnswerCountsOnceAndOnlyForWhatWasSent) {
  add(1);
  add(2);
  held_.send_next(at(1));
  EXPECT_TRUE(held_.take(1));
  EXPECT_FALSE(held_.take(1));
  EXPECT_FALSE(held_.take(2));
}

TEST_F(UnconfirmedTest, TheOldestIsTheOldestWithoutAnAnswer) {
  EXPECT_EQ(held_.oldest_sent(), std::nullopt);
  for (DeliveryId id = 1; id <= 3; ++id) {
    add(id);
    held_.send_next(at(static_cast<int>(id)));
  }
  EXPECT_EQ(held_.oldest_sent(), at(1));
  held_.take(2);
  EXPECT_EQ(held_.oldest_sent(), at(1));
  held_.take(1);
  EXPECT_EQ(held_.oldest_sent(), at(3));
  held_.take(3);
  EXPECT_EQ(held_.oldest_sent(), std::nullopt);
}

TEST_F(UnconfirmedTest, OverdueOnesAreTakenOnce) {
  for (DeliveryId id = 1; id <= 4; ++id) {
    add(id);
    held_.send_next(at(static_cast<int>(id)));
  }
  held_.take(2);
  EXPECT_EQ(held_.take_sent_until(at(3)), (Ids{1, 3}));
  EXPECT_FALSE(held_.take(3));
  EXPECT_EQ(held_.take_sent_until(at(3)), Ids{});
  EXPECT_TRUE(held_.take(4));
}

TEST_F(UnconfirmedTest, TakesThoseOfASubject) {
  add(1, "a");
  add(2, "b");
  add(3, "a");
  held_.send_next(at(1));
  held_.send_next(at(1));
  EXPECT_EQ(held_.take_subject("a"), Ids{1}) << "what was not sent was not denied";
  EXPECT_EQ(held_.take_all(), (Ids{2, 3}));
}

TEST_F(UnconfirmedTest, AllAreThoseSentAndThenThoseThatWait) {
  for (DeliveryId id = 1; id <= 4; ++id) add(id);
  held_.send_next(at(1));
  held_.send_next(at(1));
  held_.take(1);
  EXPECT_EQ(held_.take_all(), (Ids{2, 3, 4}));
  EXPECT_EQ(held_.take_all(), Ids{});
  EXPECT_FALSE(held_.has_waiting());
}

}  // namespace
}  // namespace outbox::nats
