#include "relay/progress.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace outbox {
namespace {

RecordPtr record(std::int64_t seq, std::uint64_t xid = 7) {
  auto record = std::make_shared<Record>();
  record->seq = seq;
  record->xid = xid;
  record->id = "m-" + std::to_string(seq);
  record->payload = "0123456789";
  return record;
}

std::vector<RowRef> rows(const std::vector<std::int64_t>& seqs) {
  std::vector<RowRef> rows;
  for (const auto seq : seqs) rows.push_back({seq, 7});
  return rows;
}

Position sorted(Position position) {
  std::sort(position.ahead.begin(), position.ahead.end(),
            [](const RowRef& a, const RowRef& b) { return a.seq < b.seq; });
  return position;
}

const Window kFirst{"10:10:", "20:20:"};
const Window kSecond{"20:20:", "30:30:"};

TEST(ProgressTest, PositionCoversTheSettledPrefixOnly) {
  Progress progress;
  progress.restart({"10:10:", "", 0, {}});
  const Ordinal a = progress.add(record(1), 1, kFirst);
  const Ordinal b = progress.add(record(2), 1, kFirst);
  const Ordinal c = progress.add(record(3), 1, kFirst);
  progress.settle(b);
  EXPECT_EQ(progress.position(10), (Position{"10:10:", "", 0, rows({2})}));
  progress.settle(a);
  EXPECT_EQ(progress.position(10), (Position{"10:10:", "20:20:", 2, {}}));
  progress.settle(c);
  EXPECT_EQ(progress.position(10), (Position{"10:10:", "20:20:", 3, {}}));
  EXPECT_EQ(progress.records(), 0u);
  EXPECT_EQ(progress.bytes(), 0u);
}

// A table is marked row by row, whatever holds the prefix.
TEST(ProgressTest, WhatNobodyHasToSettleIsThereToBeMarked) {
  Progress progress;
  progress.restart({});
  progress.keep_settled(true);
  progress.add(record(1), 1, kFirst);
  EXPECT_FALSE(progress.moved());
  progress.add(record(2), 0, kFirst);
  EXPECT_TRUE(progress.moved());
  EXPECT_EQ(progress.take_settled().size(), 1u);
}

TEST(ProgressTest, EndOfWindowMovesItsStart) {
  Progress progress;
  progress.restart({"10:10:", "", 0, {}});
  progress.settle(progress.add(record(5), 1, kFirst));
  EXPECT_EQ(progress.position(10).to, "20:20:");
  progress.window_done(kFirst);
  EXPECT_EQ(progress.position(10), (Position{"20:20:", "", 5, {}}));
}

TEST(ProgressTest, WhatIsAheadMayStandInALaterWindow) {
  Progress progress;
  progress.restart({"10:10:", "", 0, {}});
  const Ordinal a = progress.add(record(8), 1, kFirst);
  progress.window_done(kFirst);
  const Ordinal b = progress.add(record(4), 1, kSecond);
  progress.settle(b);
  EXPECT_EQ(progress.position(10), (Position{"10:10:", "", 0, rows({4})}));
  progress.settle(a);
  EXPECT_EQ(progress.position(10), (Position{"20:20:", "30:30:", 4, {}}));
}

TEST(ProgressTest, AheadIsBounded) {
  Progress progress;
  progress.restart({});
  progress.add(record(1), 1, {});
  for (int seq = 2; seq < 100; ++seq) progress.settle(progress.add(record(seq), 1, {}));
  EXPECT_EQ(progress.ahead(), 98u);
  EXPECT_EQ(progress.position(10).ahead.size(), 10u);
}

// What an earlier life had settled ahead stays in the position until it is read again and the prefix passes it.
TEST(ProgressTest, AheadOfAnEarlierLifeIsKept) {
  Progress progress;
  progress.restart({"10:10:", "20:20:", 3, rows({5, 9})});
  const Ordinal four = progress.add(record(4), 1, kFirst);
  ASSERT_TRUE(progress.was_ahead(*record(5)));
  ASSERT_FALSE(progress.was_ahead(*record(5)));
  progress.add(record(5), 0, kFirst);
  EXPECT_EQ(sorted(progress.position(10)), (Position{"10:10:", "20:20:", 3, rows({5, 9})}));
  progress.settle(four);
  EXPECT_EQ(progress.position(10), (Position{"10:10:", "20:20:", 5, rows({9})}));
}

// A share that was cut starts with what the whole one had ahead: 7 and 9 belong to the other part now.
TEST(ProgressTest, WhatTheOtherPartOfACutShareHasAheadIsLetGo) {
  Progress progress;
  progress.restart({"10:10:", "20:20:", 3, rows({5, 7, 9})});
  progress.settle(progress.add(record(4), 1, kFirst));
  ASSERT_TRUE(progress.was_ahead(*record(5)));
  progress.add(record(5), 0, kFirst);
  progress.window_done(kFirst);
  EXPECT_EQ(sorted(progress.position(10)), (Position{"20:20:", "", 5, rows({7, 9})}))
      << "they may stand behind this window";
  progress.settle(progress.add(record(8), 1, kSecond));
  EXPECT_EQ(progress.position(10).ahead.size(), 2u);
  progress.window_done(kSecond);
  EXPECT_EQ(progress.position(10), (Position{"30:30:", "", 8, {}}));
}

// The first window of this life may be a new one: what an earlier one had read of it is read again with it.
TEST(ProgressTest, AWindowThatIsNewReadsAllThatWasAhead) {
  Progress progress;
  progress.restart({"10:10:", "", 0, rows({7})});
  progress.settle(progress.add(record(4), 1, kFirst));
  EXPECT_EQ(progress.position(10).ahead, rows({7}));
  progress.window_done(kFirst);
  EXPECT_EQ(progress.position(10), (Position{"20:20:", "", 4, {}}));
}

// TRUNCATE … RESTART IDENTITY: a number that was settled is given to another row.
TEST(ProgressTest, ANewRowWithANumberThatWasAheadIsAnotherOne) {
  Progress progress;
  progress.restart({"10:10:", "", 0, {{7, 7}, {8, 7}}});
  EXPECT_FALSE(progress.was_ahead(*record(7, 9)));
  EXPECT_TRUE(progress.was_ahead(*record(7, 7)));
  EXPECT_TRUE(progress.was_ahead(*record(8, 7)));
}

TEST(ProgressTest, RowsOfOneSeqArePassedTogether) {
  Progress progress;
  progress.restart({"10:10:", "", 0, {}});
  const Ordinal old = progress.add(record(5, 7), 1, kFirst);
  const Ordinal anew = progress.add(record(5, 9), 1, kFirst);
  progress.settle(progress.add(record(6), 1, kFirst));
  progress.settle(old);
  EXPECT_EQ(progress.position(10), (Position{"10:10:", "", 0, {{5, 7}, {6, 7}}}));
  progress.settle(anew);
  EXPECT_EQ(progress.position(10), (Position{"10:10:", "20:20:", 6, {}}));
}

// What is settled holds nothing, also where it has to wait for another row of its seq.
TEST(ProgressTest, TheFrontIsTheFirstThatIsNotSettled) {
  Progress progress;
  progress.restart({"10:10:", "", 0, {}});
  const Ordinal old = progress.add(record(5, 7), 1, kFirst);
  const RecordPtr anew = record(5, 9);
  progress.add(anew, 1, kFirst);
  progress.settle(old);
  EXPECT_EQ(progress.front(), anew);
  EXPECT_EQ(progress.records(), 2u);
}

// Rows of a table that is marked have no seq, and need none: each is passed by itself.
TEST(ProgressTest, WhereRowsAreMarkedNoneWaitsForAnother) {
  Progress progress;
  progress.restart({});
  progress.keep_settled(true);
  const Ordinal first = progress.add(record(0), 1, kFirst);
  const RecordPtr second = record(0);
  progress.add(second, 1, kFirst);
  progress.settle(first);
  EXPECT_EQ(progress.front(), second);
  EXPECT_EQ(progress.records(), 1u);
  EXPECT_EQ(progress.ahead(), 0u);
}

TEST(ProgressTest, ARecordForTwoSinksSettlesWithTheSecond) {
  Progress progress;
  progress.keep_settled(true);
  progress.restart({});
  const Ordinal a = progress.add(record(1), 2, {});
  progress.settle(a);
  EXPECT_TRUE(progress.take_settled().empty());
  progress.settle(a);
  EXPECT_EQ(progress.take_settled().size(), 1u);
}

}  // namespace
}  // namespace outbox
