// What is said of a destination that takes nothing: core_outcomes.cc, core.cc.
#include "relay/core_fixture.h"
#include "relay/notice.h"

namespace outbox {
namespace {

class CoreDestinationTest : public CoreTest {
 protected:
  CoreDestinationTest() {
    options.sinks[0].breaker = {2, 5s, 5s};
    options.sinks[0].retry = {10ms, 20ms, 3};
    routes[0].address = "topic.{aggregate_id}";
  }
  // One message each; those of `ill` fail, the others arrive.
  void traffic(const std::vector<std::string>& destinations, const std::string& ill) {
    for (const auto& each : destinations) row(each);
    pass(1s);
    while (!in_flight.empty()) {
      const bool fails = in_flight.front().destination == "topic." + ill;
      answer(fails ? busy(Scope::destination, "no_exchange", "404") : delivered("1"));
    }
  }
};

TEST_F(CoreDestinationTest, ATurnIsSaidOnceAndItsEndToo) {
  start();
  for (int i = 0; i < 20; ++i) traffic({"a", "b"}, "b");
  EXPECT_EQ(turns, std::vector<std::string>{"topic.b is ill: no_exchange: 404"});
  const SinkView view = core->view()[0];
  EXPECT_EQ(view.breaker, BreakerState::closed);
  EXPECT_EQ(view.held_destinations, 1u);
  EXPECT_EQ(view.held_destination_reason, "no_exchange: 404");
  EXPECT_EQ(view.held_because, "") << "the other one takes messages";
  EXPECT_EQ(view.breaker_reason, "") << "no word of the sink";

  for (int i = 0; i < 10; ++i) traffic({"a", "b"}, "");
  ASSERT_EQ(turns.size(), 2u);
  EXPECT_EQ(turns.back(), "topic.b is well");
  EXPECT_EQ(core->view()[0].held_destinations, 0u);
}

TEST_F(CoreDestinationTest, ASinkOfWhichNoDestinationTakesMessagesIsHeld) {
  start();
  for (int i = 0; i < 10; ++i) traffic({"b"}, "b");
  EXPECT_EQ(core->view()[0].held_because, "each destination that it has messages for takes none: no_exchange: 404");
  for (int i = 0; i < 10; ++i) traffic({"b"}, "");
  EXPECT_EQ(core->view()[0].held_because, "");
}

TEST_F(CoreDestinationTest, OneThatFlapsDoesNotFlood) {
  start();
  constexpr std::size_t kTimes = 50;
  for (std::size_t i = 0; i < kTimes; ++i) {
    for (int j = 0; j < 2; ++j) traffic({"b"}, "b");
    pass(6s);
    for (int j = 0; j < 3; ++j) traffic({"b"}, "");
  }
  const auto most = 2 * static_cast<std::size_t>((now - kStart) / kNoticeEvery + 1);
  EXPECT_GE(turns.size(), 4u);
  EXPECT_LE(turns.size(), most);
  EXPECT_LT(most, 2 * kTimes) << "or this says nothing";
}

TEST_F(CoreDestinationTest, AnAddressThatMayHoldASecretIsNotSaid) {
  options.sinks[0].capabilities.fields_lead_elsewhere = false;
  routes[0].address = "user:secret@a/{aggregate_id}";
  routes.push_back({"events", {}, "other", "b", "", {}, false});
  start();
  for (int i = 0; i < 5; ++i) {
    row("a");
    pass(1s);
    while (!in_flight.empty()) answer(busy(Scope::destination, "http_503", "a: 503"));
  }
  EXPECT_EQ(turns, std::vector<std::string>{" is ill: http_503: a: 503"});
}

}  // namespace
}  // namespace outbox
