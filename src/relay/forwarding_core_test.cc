#include "relay/forwarding_core.h"

#include <gtest/gtest.h>

#include "model/headers.h"

namespace outbox {
namespace {

DeadLetter dead_letter(int number, const std::string& key, const std::string& payload = "{}") {
  auto record = std::make_shared<Record>();
  record->id = "m-" + std::to_string(number);
  record->aggregate_type = "order";
  record->aggregate_id = key;
  record->key = make_key("order", key);
  record->type = "Paid";
  record->payload = payload;
  record->headers = R"({"tenant":["x","y"]})";
  return {{Time(Duration(number)), number, number}, record, "invoices", "billing", "http_422", "no such street", 3};
}

std::vector<DeadLetter> dead_letters(const std::vector<std::string>& keys) {
  std::vector<DeadLetter> all;
  for (const auto& key : keys) all.push_back(dead_letter(static_cast<int>(all.size()) + 1, key));
  return all;
}

std::map<std::string, std::string> headers_of(const Record& record) {
  const auto list = parse_headers(record.headers);
  EXPECT_TRUE(list);
  return list ? std::map<std::string, std::string>(list->begin(), list->end()) : std::map<std::string, std::string>();
}

class ForwardingCoreTest : public testing::Test {
 protected:
  ForwardingCore make(const std::string& address = "dead", std::size_t payload_max = 0) {
    Route route;
    route.sink = "graveyard";
    route.address = address;
    Capabilities sink;
    sink.payload_max = payload_max;
    return {route, sink, {1s, 30s, 3}, 1};
  }
  static std::vector<std::int64_t> rows(const std::vector<ForwardingCore::Copy>& wave) {
    std::vector<std::int64_t> found;
    for (const auto& each : wave) found.push_back(each.dead.place.row);
    return found;
  }
  static std::vector<std::int64_t> rows(const std::vector<Forwarded>& forwarded) {
    std::vector<std::int64_t> found;
    for (const auto& each : forwarded) found.push_back(each.row);
    return found;
  }
  using Rows = std::vector<std::int64_t>;
  const Outcome ok_ = delivered("ok");
  const Outcome error_ = unknown("http_500", "it fell");
};

TEST(ForwardedCopy, IsTheMessageWithReasonsBesideItsHeaders) {
  const DeadLetter dead = dead_letter(1, "K", std::string("\x00\xff{", 3));
  const auto copy = forwarded_copy(dead);
  EXPECT_EQ(copy->id, dead.record->id);
  EXPECT_EQ(copy->key, dead.record->key);
  EXPECT_EQ(copy->payload, dead.record->payload);
  EXPECT_EQ(dead.record->headers, R"({"tenant":["x","y"]})");
  const auto list = parse_headers(copy->headers);
  const HeaderList expected{{"tenant", "x"},
                            {"tenant", "y"},
                            {"dead-letter-sink", "invoices"},
                            {"dead-letter-reason", "http_422"},
                            {"dead-letter-attempts", "3"},
                            {"dead-letter-at", "1970-01-01T00:00:00.000001Z"},
                            {"dead-letter-error", "no such street"},
                            {"dead-letter-owner", "billing"}};
  EXPECT_EQ(*list, expected);
}

// B115.
TEST(ForwardedCopy, ItsTextsAreCutBetweenCharactersAndOnOneLine) {
  DeadLetter dead = dead_letter(1, "K");
  dead.error = "x\ny" + std::string(300'000, 'a');
  EXPECT_EQ(headers_of(*forwarded_copy(dead)).at("dead-letter-error"), "x y" + std::string(kForwardedTextMax - 3, 'a'));
  dead.error.clear();
  for (int i = 0; i < 1000; ++i) dead.error += "\xe2\x82\xac";  // 3 bytes each
  EXPECT_EQ(headers_of(*forwarded_copy(dead)).at("dead-letter-error").size(), kForwardedTextMax / 3 * 3);
}

TEST(ForwardedCopy, HeadersThatCannotBeReadAreLeftOut) {
  DeadLetter dead = dead_letter(1, "K");
  auto broken = std::make_shared<Record>(*dead.record);
  broken->headers = R"({"n":1})";
  dead.record = broken;
  EXPECT_EQ(headers_of(*forwarded_copy(dead)).count("n"), 0u);
  EXPECT_EQ(headers_of(*forwarded_copy(dead)).at("dead-letter-sink"), "invoices");
}

TEST_F(ForwardingCoreTest, OneOfAKeyAtATimeInOrder) {
  auto core = make();
  auto left = dead_letters({"A", "A", "B", "A"});
  core.begin_round();
  auto wave = core.next_wave(left);
  EXPECT_EQ(rows(wave), (Rows{1, 3}));
  EXPECT_EQ(rows(core.judge(wave, {ok_, ok_})), (Rows{1, 3}));
  wave = core.next_wave(left);
  EXPECT_EQ(rows(wave), (Rows{2}));
  core.judge(wave, {ok_});
  wave = core.next_wave(left);
  EXPECT_EQ(rows(wave), (Rows{4}));
  core.judge(wave, {ok_});
  EXPECT_TRUE(core.next_wave(left).empty());
  EXPECT_EQ(core.end_round(), Duration(0));
}

TEST_F(ForwardingCoreTest, OneThatFailsKeepsItsKeyOutOfTheRound) {
  auto core = make();
  auto left = dead_letters({"A", "A", "B"});
  core.begin_round();
  const auto wave = core.next_wave(left);
  EXPECT_EQ(rows(core.judge(wave, {error_, ok_})), (Rows{3}));
  EXPECT_TRUE(core.next_wave(left).empty());
  EXPECT_TRUE(left.empty());
  EXPECT_GT(core.end_round(), Duration(0));
}

TEST_F(ForwardingCoreTest, WhatIsRefusedIsDoneWithAndItsKeyGoesOn) {
  auto core = make();
  auto left = dead_letters({"A", "A"});
  core.begin_round();
  auto wave = core.next_wave(left);
  const auto forwarded = core.judge(wave, {rejected("http_422", "no")});
  ASSERT_EQ(rows(forwarded), (Rows{1}));
  EXPECT_EQ(forwarded.front().refusal, "http_422: no");
  EXPECT_EQ(rows(core.next_wave(left)), (Rows{2}));
}

TEST_F(ForwardingCoreTest, WhatIsTooLargeIsRefusedWithoutATry) {
  auto core = make("dead", 10);
  std::vector<DeadLetter> left{dead_letter(1, "A", std::string(11, 'x'))};
  core.begin_round();
  const auto wave = core.next_wave(left);
  ASSERT_EQ(wave.size(), 1u);
  ASSERT_TRUE(wave.front().outcome);
  EXPECT_EQ(wave.front().outcome->reason, "too_large");
}

TEST_F(ForwardingCoreTest, ASinkThatIsAwayIsTriedWithOneCopyAtATime) {
  auto core = make();
  auto left = dead_letters({"A", "B", "C"});
  core.begin_round();
  auto wave = core.next_wave(left);
  EXPECT_EQ(wave.size(), 3u);
  const Outcome away = busy(Scope::sink, "refused", "nobody there");
  EXPECT_TRUE(core.judge(wave, {away, away, away}).empty());
  EXPECT_TRUE(core.round_is_over());
  for (int round = 0; round < 50; ++round) {
    const Duration pause = core.end_round();
    EXPECT_GE(pause, kBackoffFloor);
    EXPECT_LE(pause, 30s);
    left = dead_letters({"A", "B", "C"});
    core.begin_round();
    wave = core.next_wave(left);
    ASSERT_EQ(wave.size(), 1u);
    EXPECT_TRUE(core.judge(wave, {away}).empty()) << "an outage gives nothing up";
  }
  left = dead_letters({"A", "B", "C"});
  core.begin_round();
  wave = core.next_wave(left);
  EXPECT_EQ(core.judge(wave, {ok_}).size(), 1u);
  EXPECT_EQ(core.next_wave(left).size(), 2u) << "it is back";
}

TEST_F(ForwardingCoreTest, AnEndpointThatOnlyFailsGivesNothingUp) {
  auto core = make();
  for (int round = 0; round < 20; ++round) {
    auto left = dead_letters({"A", "B"});
    core.begin_round();
    const auto wave = core.next_wave(left);
    EXPECT_EQ(wave.size(), round == 0 ? 2u : 1u);
    EXPECT_TRUE(core.judge(wave, std::vector<Outcome>(wave.size(), error_)).empty());
    core.end_round();
  }
}

TEST_F(ForwardingCoreTest, APoisonedCopyIsGivenUpWhileOthersArrive) {
  auto core = make();
  int rounds = 0;
  for (bool given_up = false; !given_up; ++rounds) {
    ASSERT_LT(rounds, 10);
    std::vector<DeadLetter> left{dead_letter(1, "A"), dead_letter(100 + rounds, "B")};
    core.begin_round();
    for (auto wave = core.next_wave(left); !wave.empty(); wave = core.next_wave(left)) {
      std::vector<Outcome> outcomes;
      for (const auto& each : wave) outcomes.push_back(each.dead.place.row == 1 ? error_ : ok_);
      for (const Forwarded& each : core.judge(wave, outcomes)) given_up |= !each.refusal.empty();
    }
    core.end_round();
  }
  EXPECT_GE(rounds, 3);
}

TEST_F(ForwardingCoreTest, APoisonedCopyAtTheHeadDoesNotHoldTheOthers) {
  auto core = make();
  std::vector<DeadLetter> left{dead_letter(1, "A")};
  core.begin_round();
  core.judge(core.next_wave(left), {error_});
  core.end_round();
  left = {dead_letter(1, "A"), dead_letter(2, "B")};
  core.begin_round();
  EXPECT_EQ(rows(core.next_wave(left)), (Rows{2})) << "the probe takes another key";
}

TEST_F(ForwardingCoreTest, AClosedDestinationHoldsItselfOnly) {
  auto core = make("dead.{aggregate_id}");
  auto left = dead_letters({"A", "B", "A"});
  core.begin_round();
  const auto wave = core.next_wave(left);
  EXPECT_EQ(rows(core.judge(wave, {busy(Scope::destination, "no_topic", "missing", 7s), ok_})), (Rows{2}));
  EXPECT_FALSE(core.round_is_over());
  EXPECT_TRUE(core.next_wave(left).empty());
  EXPECT_GE(core.end_round(), Duration(7s)) << "as long as it asked for";
}

}  // namespace
}  // namespace outbox
