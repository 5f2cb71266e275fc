#include "conformance/sink_conformance.h"

#include <unistd.h>

#include <fstream>
#include <set>
#include <thread>

#include "conformance/sink_pump.h"
#include "support/eventually.h"

namespace outbox::test {
namespace {

constexpr std::chrono::milliseconds kPatience = std::chrono::seconds(60);

std::vector<std::string> ids(const std::vector<RecordPtr>& records) {
  std::vector<std::string> all;
  for (const auto& record : records) all.push_back(record->id);
  return all;
}

// A sanitizer's allocator keeps what is freed, and shadows the rest: then the size of the process says nothing of ours.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSizeTells = false;
#else
constexpr bool kSizeTells = true;
#endif

std::size_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::size_t total = 0;
  std::size_t resident = 0;
  file >> total >> resident;
  return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

// Repeats taken out: what counts for order is when something came first.
std::vector<std::string> first_arrivals(const std::vector<std::string>& arrived) {
  std::vector<std::string> firsts;
  std::set<std::string> seen;
  for (const auto& id : arrived) {
    if (seen.insert(id).second) firsts.push_back(id);
  }
  return firsts;
}

}  // namespace

void SinkConformance::SetUp() {
  bench_ = GetParam().make();
  sink_ = bench_->make_sink();
  ASSERT_NE(sink_, nullptr);
}

void SinkConformance::TearDown() {
  if (bench_) bench_->let_go();
  if (sink_) sink_->close();
  EXPECT_EQ(log_.completed_twice(), 0u);
}

void SinkConformance::not_applicable(const std::string& why) { RecordProperty("not_applicable", why); }

RecordPtr SinkConformance::message(int number, const std::string& key) {
  return std::make_shared<const Record>(make_record(number, key, "{\"n\":" + std::to_string(number) + "}"));
}

DeliveryId SinkConformance::publish(RecordPtr record, const std::string& destination) {
  const Publication one{++last_id_, std::move(record), destination.empty() ? bench_->destination() : destination, 1};
  sink_->publish({&one, 1});
  return one.id;
}

std::vector<DeliveryId> SinkConformance::publish_all(const std::vector<RecordPtr>& records) {
  std::vector<Publication> batch;
  std::vector<DeliveryId> published;
  for (const auto& record : records) {
    batch.push_back({++last_id_, record, bench_->destination(), 1});
    published.push_back(last_id_);
  }
  sink_->publish(batch);
  return published;
}

std::vector<std::string> SinkConformance::arrived_of(const std::string& key) {
  std::vector<std::string> found;
  for (const auto& arrival : bench_->arrived()) {
    if (arrival.key == key) found.push_back(arrival.id);
  }
  return found;
}

TEST_P(SinkConformance, DeliversEachMessageOnceAndReportsEachOnce) {
  ASSERT_TRUE(sink_->open(log_));
  std::vector<RecordPtr> records;
  for (int i = 0; i < 300; ++i) records.push_back(message(i, "key-" + std::to_string(i)));
  const auto published = publish_all(records);
  ASSERT_TRUE(log_.wait(published.size(), kPatience));
  for (const DeliveryId id : published) {
    EXPECT_EQ(log_.wait_for(id).verdict, Verdict::delivered) << log_.wait_for(id).detail;
    EXPECT_FALSE(log_.wait_for(id).detail.empty()) << "a receipt";
  }
  const auto arrived = bench_->arrived();
  EXPECT_EQ(arrived.size(), records.size());
  std::set<std::string> payloads;
  for (const auto& arrival : arrived) payloads.insert(arrival.payload);
  for (const auto& record : records) EXPECT_TRUE(payloads.contains(record->payload)) << record->payload;
}

TEST_P(SinkConformance, KeepsTheOrderOfEachKey) {
  SinkPump pump(*sink_, bench_->destination());
  ASSERT_TRUE(sink_->open(pump));
  std::map<std::string, std::vector<RecordPtr>> expected;
  for (int i = 0; i < 600; ++i) {
    const std::string key = "key-" + std::to_string(i % 7);
    expected[key].push_back(message(i, key));
    pump.add(expected[key].back());
  }
  ASSERT_TRUE(pump.run(kPatience));
  EXPECT_TRUE(pump.violations().empty()) << pump.violations().front();
  for (const auto& [key, records] : expected) EXPECT_EQ(arrived_of(key), ids(records));
}

TEST_P(SinkConformance, TakesAFullWindowWhileNothingIsConfirmed) {
  if (!bench_->hold()) return not_applicable("this far end cannot hold back its confirmations");
  ASSERT_TRUE(sink_->open(log_));
  const Capabilities can = sink_->capabilities();
  std::vector<RecordPtr> records;
  std::size_t bytes = 0;
  for (int i = 0; records.size() < can.window_messages && bytes < can.window_bytes; ++i) {
    records.push_back(message(i, "key-" + std::to_string(i)));
    bytes += records.back()->bytes();
  }
  const auto half = records.size() / 2;
  publish_all({records.begin(), records.begin() + static_cast<std::ptrdiff_t>(half)});
  publish_all({records.begin() + static_cast<std::ptrdiff_t>(half), records.end()});
  EXPECT_EQ(log_.count(Verdict::delivered), 0u) << "publish() waited for confirmations";
  bench_->let_go();
  ASSERT_TRUE(log_.wait(records.size(), kPatience));
  EXPECT_EQ(log_.count(), records.size());
}

TEST_P(SinkConformance, OpensWhileTheFarEndIsAway) {
  if (!bench_->go_down()) return not_applicable("this far end cannot go away");
  SinkPump pump(*sink_, bench_->destination());
  ASSERT_TRUE(sink_->open(pump));
  pump.add(message(1, "a"));
  EXPECT_FALSE(pump.run(std::chrono::milliseconds(200)));
  bench_->come_up();
  EXPECT_TRUE(pump.run(kPatience));
  EXPECT_EQ(arrived_of("a"), std::vector<std::string>{"m-1"});
}

TEST_P(SinkConformance, AFarEndThatIsAwayIsNoFaultOfTheMessage) {
  if (!bench_->go_down()) return not_applicable("this far end cannot go away");
  ASSERT_TRUE(sink_->open(log_));
  const Outcome outcome = log_.wait_for(publish(message(1, "a")), kPatience);
  EXPECT_EQ(outcome.verdict, Verdict::busy) << outcome.reason;
  EXPECT_NE(outcome.scope, Scope::message);
  EXPECT_FALSE(outcome.reason.empty());
  EXPECT_FALSE(outcome.detail.empty());
}

TEST_P(SinkConformance, KeepsTheOrderThroughAnOutage) {
  SinkPump pump(*sink_, bench_->destination());
  ASSERT_TRUE(sink_->open(pump));
  std::map<std::string, std::vector<RecordPtr>> expected;
  const auto add = [&](int from, int to) {
    for (int i = from; i < to; ++i) {
      const std::string key = "key-" + std::to_string(i % 5);
      expected[key].push_back(message(i, key));
      pump.add(expected[key].back());
    }
  };
  add(0, 100);
  ASSERT_TRUE(pump.run(kPatience));
  if (!bench_->go_down()) return not_applicable("this far end cannot go away");
  add(100, 400);
  bool up = false;
  ASSERT_TRUE(pump.run(kPatience, [&](std::size_t) {
    if (up || pump.failures().empty()) return;
    up = true;
    bench_->come_up();
  }));
  EXPECT_TRUE(up);
  EXPECT_TRUE(pump.violations().empty()) << pump.violations().front();
  for (const auto& [key, records] : expected) EXPECT_EQ(first_arrivals(arrived_of(key)), ids(records));
}

TEST_P(SinkConformance, ARefusedMessageHoldsNobody) {
  Record bad = *message(2, "a");
  if (!bench_->poison(bad)) return not_applicable("this far end refuses no message");
  SinkPump pump(*sink_, bench_->destination());
  ASSERT_TRUE(sink_->open(pump));
  pump.add(message(1, "a"));
  pump.add(std::make_shared<const Record>(bad));
  pump.add(message(3, "a"));
  pump.add(message(4, "b"));
  ASSERT_TRUE(pump.run(kPatience));
  EXPECT_EQ(pump.delivered(), 3u);
  EXPECT_EQ(arrived_of("a"), (std::vector<std::string>{"m-1", "m-3"}));
  EXPECT_EQ(arrived_of("b"), std::vector<std::string>{"m-4"});
}

TEST_P(SinkConformance, AMessageThatIsTooLargeIsRefusedAlone) {
  Record large = *message(2, "a");
  if (!bench_->outgrow(large)) return not_applicable("this far end knows no limit");
  SinkPump pump(*sink_, bench_->destination());
  ASSERT_TRUE(sink_->open(pump));
  pump.add(message(1, "a"));
  pump.add(std::make_shared<const Record>(large));
  pump.add(message(3, "a"));
  ASSERT_TRUE(pump.run(kPatience));
  EXPECT_EQ(pump.delivered(), 2u);
  EXPECT_EQ(arrived_of("a"), (std::vector<std::string>{"m-1", "m-3"}));
}

TEST_P(SinkConformance, ABrokenDestinationIsItsOwnFault) {
  const std::string broken = bench_->broken_destination();
  if (broken.empty()) return not_applicable("this far end has no second destination");
  ASSERT_TRUE(sink_->open(log_));
  const Outcome outcome = log_.wait_for(publish(message(1, "a"), broken), kPatience);
  EXPECT_EQ(outcome.verdict, Verdict::busy) << outcome.reason;
  EXPECT_EQ(outcome.scope, Scope::destination);
  if (log_.wait_for(publish(message(2, "b")), kPatience).verdict == Verdict::client_dead) {
    ASSERT_TRUE(sink_->reopen());
    ASSERT_EQ(log_.wait_for(publish(message(2, "b")), kPatience).verdict, Verdict::delivered);
  }
  EXPECT_EQ(arrived_of("b"), std::vector<std::string>{"m-2"});
}

TEST_P(SinkConformance, CloseGivesUpWhatIsInFlight) {
  const bool held = bench_->hold();
  ASSERT_TRUE(sink_->open(log_));
  std::vector<RecordPtr> records;
  for (int i = 0; i < 100; ++i) records.push_back(message(i, "key-" + std::to_string(i)));
  const auto published = publish_all(records);
  sink_->close();
  EXPECT_EQ(log_.count(), published.size());
  for (const DeliveryId id : published) {
    const auto outcome = log_.outcome(id);
    ASSERT_TRUE(outcome);
    if (held || outcome->verdict != Verdict::delivered) {
      EXPECT_EQ(outcome->verdict, Verdict::unknown) << outcome->reason;
      EXPECT_EQ(outcome->reason, "closed");
    }
  }
  sink_->close();
}

TEST_P(SinkConformance, ClosesWithoutHavingBeenOpened) {
  sink_->close();
  sink_->close();
}

TEST_P(SinkConformance, ReopenStartsAfresh) {
  ASSERT_TRUE(sink_->open(log_));
  ASSERT_EQ(log_.wait_for(publish(message(1, "a")), kPatience).verdict, Verdict::delivered);
  const bool held = bench_->hold();
  publish(message(2, "b"));
  ASSERT_TRUE(sink_->reopen());
  EXPECT_EQ(log_.count(), 2u) << "reopen() left something unconfirmed";
  if (held) {
    EXPECT_EQ(log_.wait_for(2).verdict, Verdict::client_dead);
  }
  bench_->let_go();
  EXPECT_EQ(log_.wait_for(publish(message(3, "c")), kPatience).verdict, Verdict::delivered);
}

// The far end is silent from the first connection on.
TEST_P(SinkConformance, ReopenTakesBackWhatWaitsForAConnection) {
  if (!bench_->hold()) return not_applicable("the far end cannot be held");
  ASSERT_TRUE(sink_->open(log_));
  std::vector<RecordPtr> records;
  for (int i = 1; i <= 3; ++i) records.push_back(message(i, "key-" + std::to_string(i)));
  const auto published = publish_all(records);
  bool reopened = static_cast<bool>(sink_->reopen());
  bench_->let_go();
  for (const DeliveryId id : published) EXPECT_EQ(log_.wait_for(id, kPatience).verdict, Verdict::client_dead);
  ASSERT_TRUE(eventually(kPatience, [&] { return reopened = reopened || sink_->reopen(); }));
  EXPECT_EQ(log_.wait_for(publish(message(4, "d")), kPatience).verdict, Verdict::delivered);
}

TEST_P(SinkConformance, ASecondSinkGoesOnWhereTheFirstStopped) {
  ASSERT_TRUE(sink_->open(log_));
  ASSERT_EQ(log_.wait_for(publish(message(1, "a")), kPatience).verdict, Verdict::delivered);
  sink_->close();
  sink_ = bench_->make_sink();
  ASSERT_TRUE(sink_->open(log_));
  ASSERT_EQ(log_.wait_for(publish(message(2, "a")), kPatience).verdict, Verdict::delivered);
  EXPECT_EQ(arrived_of("a"), (std::vector<std::string>{"m-1", "m-2"}));
}

TEST_P(SinkConformance, MemoryDoesNotGrowWithTheMessages) {
  bench_->forget_arrivals();
  SinkPump pump(*sink_, bench_->destination());
  ASSERT_TRUE(sink_->open(pump));
  constexpr std::size_t kRound = 2'000;
  std::size_t sent = 0;
  std::size_t warm = 0;
  const std::size_t total = bench_->memory_messages();
  while (sent < total) {
    for (std::size_t i = 0; i < kRound; ++i, ++sent) {
      pump.add(message(static_cast<int>(sent), "key-" + std::to_string(sent % 500)));
    }
    ASSERT_TRUE(pump.run(kPatience));
    if (warm == 0 && sent >= total / 5) warm = resident_bytes();
  }
  EXPECT_TRUE(pump.violations().empty());
  EXPECT_EQ(pump.delivered(), sent);
  if (kSizeTells) {
    EXPECT_LT(resident_bytes(), warm + bench_->memory_growth()) << "from " << warm << " bytes";
  }
}

}  // namespace outbox::test
