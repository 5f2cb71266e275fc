// What the database refuses to store: everything else is stored, and nothing is forgotten.
#include "relay/core_fixture.h"

namespace outbox {
namespace {

class CoreRefusalsTest : public CoreTest {
 protected:
  // Settles as a database that refuses whatever names the message.
  void step_refusing(const std::string& id) {
    for (Commands commands = core->take();; commands = core->take()) {
      for (const auto& each : commands.refused) refused.push_back(each.what);
      for (const auto& each : commands.died) died.push_back(each.record->id + " " + each.reason);
      wake_at = commands.wake_at;
      finished = commands.finished;
      for (auto& each : commands.publish) {
        for (auto& publication : each.batch) in_flight.push_back(std::move(publication));
      }
      if (commands.settle) {
        const bool takes = !names(*commands.settle, id);
        if (takes) settled.push_back(*commands.settle);
        ++settles;
        const Failure failure{FailureKind::invalid, "value too long"};
        core->settled(takes ? Result<void>() : Result<void>(failure), clocks());
      } else if (commands.fetch) {
        core->fetched(next_page(), clocks());
      } else if (commands.facts) {
        core->facts(facts, clocks());
      } else if (commands.due) {
        asked_except = commands.due->except;
        core->due(std::vector<ParkedRun>{}, Store::Parking{stored_counts(0), kNever}, clocks());
      } else {
        return;
      }
    }
  }
  static bool names(const SettleBatch& batch, const std::string& id) {
    return std::any_of(batch.parks.begin(), batch.parks.end(), [&](const Park& p) { return p.record->id == id; }) ||
           std::any_of(batch.settled.begin(), batch.settled.end(), [&](const RecordPtr& r) { return r->id == id; });
  }
  // All rows come, and all are rejected in one breath: one batch of dead letters.
  void reject_all(const std::string& id) {
    core->poke(clocks());
    step_refusing(id);
    std::vector<Completion> completions;
    for (const auto& each : in_flight) completions.push_back({each.id, rejected("no", "thank you")});
    in_flight.clear();
    core->completed(0, completions, clocks());
    step_refusing(id);
  }
  std::vector<std::string> stored() const {
    std::vector<std::string> ids;
    for (const Park& park : parks()) ids.push_back(park.record->id);
    std::sort(ids.begin(), ids.end());
    return ids;
  }
  std::optional<Position> last_position() const {
    std::optional<Position> position;
    for (const auto& batch : settled) {
      if (batch.position) position = batch.position;
    }
    return position;
  }

  std::vector<std::string> refused;
  std::vector<std::string> asked_except;
};

TEST_F(CoreRefusalsTest, TheRestIsStoredAndTheCulpritHoldsThePosition) {
  start();
  for (const char* key : {"a", "b", "c", "d", "e"}) row(key);
  reject_all("m-3");
  EXPECT_EQ(stored(), (std::vector<std::string>{"m-1", "m-2", "m-4", "m-5"}));
  EXPECT_EQ(died.size(), 4u) << "what is not stored is not told";
  EXPECT_FALSE(last_position());
  ASSERT_EQ(refused.size(), 1u);
  EXPECT_NE(refused[0].find("m-3"), std::string::npos) << refused[0];
  EXPECT_NE(core->refusal().find("m-3"), std::string::npos) << core->refusal();
  EXPECT_NE(core->refusal().find("value too long"), std::string::npos) << core->refusal();

  // Another message goes its way, and moves nothing past the culprit.
  row("f");
  reject_all("m-3");
  EXPECT_EQ(stored().back(), "m-6");
  EXPECT_FALSE(last_position());

  // Somebody has mended the database.
  pass(1min);
  EXPECT_EQ(stored(), (std::vector<std::string>{"m-1", "m-2", "m-3", "m-4", "m-5", "m-6"}));
  ASSERT_TRUE(last_position());
  EXPECT_EQ(last_position()->seq, 6);
  EXPECT_EQ(core->refusal(), "");
  EXPECT_EQ(died.size(), 6u);
}

TEST_F(CoreRefusalsTest, WhatStopsMeanwhileEnds) {
  start();
  row("a");
  row("b");
  reject_all("m-1");
  core->stop(clocks());
  step_refusing("m-1");
  EXPECT_TRUE(finished);
  EXPECT_FALSE(last_position()) << "the next life reads it again";
}

TEST_F(CoreRefusalsTest, FollowersAreNotParkedBeforeIt) {
  options.sinks[0].capabilities.window_messages = 100;
  start();
  row("a", now + 10s);  // not due: parked at once
  core->poke(clocks());
  step_refusing("none");
  settled.clear();
  facts.waiting_keys = {"order:k"};
  row("k");
  row("k");
  core->poke(clocks());
  step_refusing("m-2");
  EXPECT_EQ(stored(), std::vector<std::string>{}) << "m-3 stands behind m-2, which is refused";
  core->poke(clocks());
  now += 5s;
  core->tick(clocks());
  step_refusing("m-2");
  EXPECT_NE(std::find(asked_except.begin(), asked_except.end(), "order:k"), asked_except.end());
  pass(1min);
  const auto all = parks();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].record->id + " " + all[1].record->id, "m-2 m-3");
}

// A database that refuses everything is not asked for each message by itself for ever.
TEST_F(CoreRefusalsTest, AtManyTheBatchWaitsAsAWhole) {
  options.page_records = 1000;
  options.sinks[0].capabilities.window_messages = 2000;
  start();
  for (int i = 0; i < 1000; ++i) row(std::to_string(i));
  core->poke(clocks());
  step();
  std::vector<Completion> completions;
  for (const auto& each : in_flight) completions.push_back({each.id, rejected("no", "thank you")});
  settle_result = Failure{FailureKind::invalid, "no such table"};
  settles = 0;
  core->completed(0, completions, clocks());
  step();
  EXPECT_LT(settles, 300);
  settle_result = {};
  pass(2min);
  EXPECT_EQ(parks().size(), 1000u);
  EXPECT_EQ(last_position()->seq, 1000);
}

TEST_F(CoreRefusalsTest, ARowWhoseMarkIsRefusedIsNotSentAgain) {
  options.feed = {"*", {"events"}, false, true};
  options.source_repeats = true;
  start();
  const auto a = row("a"), b = row("b");
  core->poke(clocks());
  step_refusing(a->id);
  std::vector<Completion> completions;
  for (const auto& each : in_flight) completions.push_back({each.id, delivered("")});
  ASSERT_EQ(completions.size(), 2u);
  in_flight.clear();
  core->completed(0, completions, clocks());
  step_refusing(a->id);
  ASSERT_EQ(settled.size(), 1u);
  EXPECT_EQ(settled[0].settled, std::vector<RecordPtr>{b});
  rows = {a};  // the table is swept again
  core->poke(clocks());
  step_refusing(a->id);
  EXPECT_TRUE(in_flight.empty());
  pass(1min);
  EXPECT_EQ(settled.back().settled, std::vector<RecordPtr>{a});
}

}  // namespace
}  // namespace outbox
