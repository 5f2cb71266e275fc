// dead_letters.key: hold, where the message that dies is not the first of its key.
#include "relay/core_fixture.h"

namespace outbox {
namespace {

class CoreHoldTest : public CoreTest {
 protected:
  CoreHoldTest() {
    routes[0].dead_letter_holds_key = true;
    options.sinks[0].capabilities.payload_max = 100;
  }

  using CoreTest::row;

  void row(const std::string& key, const std::string& type) {
    auto record = std::make_shared<Record>(*row(key));
    record->type = type;
    rows.back() = record;
  }

  void large_row(const std::string& key) {
    auto record = std::make_shared<Record>(*row(key));
    record->payload = std::string(101, 'x');
    rows.back() = record;
  }

  // The first of two routes; the other takes the rest.
  void route_of_type(const std::string& type) {
    routes.push_back(routes[0]);
    routes[0].type = type;
  }

  std::vector<std::string> parked() const {
    std::vector<std::string> all;
    for (const Park& park : parks()) all.push_back(park.record->id + " " + park.reason);
    return all;
  }
};

using Texts = std::vector<std::string>;

TEST_F(CoreHoldTest, TooLargeDiesWhenWhatCameBeforeItIsDelivered) {
  row("4");
  large_row("4");
  row("4");
  start();
  EXPECT_EQ(parked(), Texts{});
  ASSERT_EQ(take_first(), "m-1");
  answer(delivered(""));
  EXPECT_EQ(parked(), (Texts{"m-2 too_large", "m-3 behind_key"}));
  EXPECT_TRUE(parks()[0].holds_key);
  EXPECT_EQ(died, Texts{"m-2 too_large"});
  EXPECT_TRUE(in_flight.empty());
}

TEST_F(CoreHoldTest, TooLargeWaitsBehindWhatHasToBeTriedAgain) {
  row("4");
  large_row("4");
  start();
  answer(busy(Scope::message, "slow_down", ""));
  EXPECT_EQ(parked(), (Texts{"m-1 slow_down", "m-2 behind_key"}));
  EXPECT_EQ(died, Texts{});
}

TEST_F(CoreHoldTest, TooLargeDiesAtOnceAsTheFirstOfItsKey) {
  large_row("4");
  row("4");
  start();
  EXPECT_EQ(parked(), (Texts{"m-1 too_large", "m-2 behind_key"}));
}

TEST_F(CoreHoldTest, OneAfterTheOther) {
  row("4");
  large_row("4");
  large_row("4");
  start();
  answer(delivered(""));
  EXPECT_EQ(parked(), (Texts{"m-2 too_large", "m-3 behind_key"}));
}

TEST_F(CoreHoldTest, BadAddressDiesInItsTurn) {
  route_of_type("good");
  routes[1].address = "topic.{unheard_of}";
  row("4", "good");
  row("4", "bad");
  start();
  EXPECT_EQ(parked(), Texts{});
  answer(delivered(""));
  EXPECT_EQ(parked(), Texts{"m-2 bad_address"});
}

TEST_F(CoreHoldTest, BadAddressOfWhatWasParkedIsCalledThatToo) {
  routes[0].address = "topic.{unheard_of}";
  runs = {{"order:4", {{11, CoreTest::row("4"), 1, 0}, {12, CoreTest::row("4"), 0, 0}}, false}};
  rows.clear();
  start();
  ASSERT_EQ(settled.size(), 1u);
  ASSERT_EQ(settled[0].updates.size(), 1u) << "what stands behind it waits";
  EXPECT_EQ(settled[0].updates[0].reason, "bad_address");
  EXPECT_TRUE(settled[0].updates[0].holds_key);
}

TEST_F(CoreHoldTest, NothingGoesOutBehindWhatMayComeToHoldTheKey) {
  options.sinks[0].capabilities.pipelines_key = true;
  route_of_type("other");
  routes[0].dead_letter_holds_key = false;
  row("4", "holds");
  row("4", "other");
  start();
  ASSERT_EQ(in_flight.size(), 1u);
  answer(rejected("no", ""));
  EXPECT_EQ(parked(), (Texts{"m-1 no", "m-2 behind_key"}));
}

}  // namespace
}  // namespace outbox
