// A core with a source and a store that answer at once, and sinks whose outcomes the test gives.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "relay/core.h"

namespace outbox {

inline constexpr Time kStart{Duration(1'000'000'000)};

class CoreTest : public ::testing::Test {
 protected:
  CoreTest() {
    options.feed = {"events", {"events"}, true, true};
    options.sinks = {{"events", {}, {1s, 30s, 3}, {5, 5s, 1min}, 100}};
    options.settle_every = Duration(0);
    routes = {{"events", {}, {}, "topic", "billing", {}, false}};
  }

  void start() {
    core = std::make_unique<Core>(options, std::make_shared<Router>(routes), 1);
    core->started({}, clocks());
    step();
  }

  // Both clocks show the same, but for what the database's was set forward.
  static SteadyTime steady(Time time) { return SteadyTime(time.time_since_epoch()); }
  Now clocks() const { return {steady(now), now + set_forward}; }

  // Answers the core's commands until it asks for nothing but time.
  void step() {
    for (Commands commands = core->take();; commands = core->take()) {
      bool moved = false;
      finished = commands.finished;
      wake_at = commands.wake_at;
      restarts += commands.restart ? 1 : 0;
      reopens += static_cast<int>(commands.reopen.size());
      for (const auto& each : commands.died) died.push_back(each.record->id + " " + each.reason);
      for (const auto& each : commands.destination_turns) {
        turns.push_back(each.destination + (each.failure.empty() ? " is well" : " is ill: " + each.failure));
      }
      for (auto& each : commands.publish) {
        auto& to = options.sinks.size() == 1 ? in_flight : sinks_in_flight[static_cast<int>(each.sink)];
        for (auto& publication : each.batch) to.push_back(std::move(publication));
      }
      if (commands.fetch) {
        moved = true;
        if (!rows.empty()) fetched_max = commands.fetch->max_records;
        core->fetched(next_page(), clocks());
      }
      if (commands.settle) {
        moved = true;
        const Result<void> result = settle_result;
        if (result) settled.push_back(*commands.settle);
        ++settles;
        core->settled(result, clocks());
      }
      if (commands.facts) {
        moved = true;
        ++questions;
        core->facts(facts, clocks());
      }
      if (commands.due) {
        moved = true;
        core->due(std::exchange(runs, {}), Store::Parking{stored_counts(commands.due->sink), kNever}, clocks());
      }
      if (!moved) return;
    }
  }

  // What the test says, and what was parked since.
  ParkedCounts stored_counts(std::size_t sink) const {
    ParkedCounts sum = counts;
    for (const Park& park : parks()) {
      if (park.sink != options.sinks[sink].name || park.state != DeliveryState::waiting) continue;
      ++sum.waiting;
      if (!park.charged && !park.not_due) ++sum.uncharged;
    }
    return sum;
  }

  Page next_page() {
    Page page;
    page.window = {"1:1:", "2:2:"};
    page.records = std::exchange(rows, {});
    page.database_now = now + set_forward;
    return page;
  }

  RecordPtr row(const std::string& key, std::optional<Time> not_before = {}) {
    auto record = std::make_shared<Record>();
    record->seq = ++seq;
    record->id = "m-" + std::to_string(seq);
    record->aggregate_type = "order";
    record->aggregate_id = key;
    record->key = make_key("order", key);
    record->payload = "{}";
    record->not_before = not_before;
    rows.push_back(record);
    return record;
  }

  void pass(Duration duration) {
    const Time until = now + duration;
    while (wake_at < steady(until)) {
      now = std::max(now, Time(wake_at.time_since_epoch()));
      core->tick(clocks());
      step();
      if (wake_at <= steady(now)) now += Duration(1ms);
    }
    now = until;
    core->tick(clocks());
    step();
  }

  std::string take_first() {
    EXPECT_FALSE(in_flight.empty());
    return in_flight.empty() ? "" : in_flight.front().record->id;
  }

  void answer(Outcome outcome) {
    ASSERT_FALSE(in_flight.empty());
    const DeliveryId id = in_flight.front().id;
    in_flight.pop_front();
    core->completed(0, {{id, std::move(outcome)}}, clocks());
    step();
  }

  std::vector<Park> parks() const {
    std::vector<Park> all;
    for (const auto& batch : settled) all.insert(all.end(), batch.parks.begin(), batch.parks.end());
    return all;
  }

  CoreOptions options;
  std::vector<Route> routes;
  std::unique_ptr<Core> core;
  Time now = kStart;
  Duration set_forward{0};
  SteadyTime wake_at = kNeverSteady;
  bool finished = false;
  int restarts = 0;
  int reopens = 0;
  int settles = 0;
  int questions = 0;
  std::int64_t seq = 0;
  std::vector<RecordPtr> rows;
  std::deque<Publication> in_flight;
  std::map<int, std::deque<Publication>> sinks_in_flight;  // where there are several
  std::size_t fetched_max = 0;                             // of the last fetch that brought something
  std::vector<SettleBatch> settled;
  std::vector<std::string> died;
  std::vector<std::string> turns;  // of destinations
  Result<void> settle_result;
  PageFacts facts;
  ParkedCounts counts;
  std::vector<ParkedRun> runs;
};

}  // namespace outbox
