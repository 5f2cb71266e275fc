#include "source/poll/snapshot_window.h"

#include <gtest/gtest.h>

namespace outbox {
namespace {

using Step = SnapshotWindow::Step;

SnapshotWindow started(const std::string& from, const std::string& to = {}, std::int64_t seq = 0) {
  SnapshotWindow window;
  window.start(Position{from, to, seq, {}});
  return window;
}

TEST(SnapshotWindow, NothingNewKeepsProbing) {
  auto window = started("5:5:");
  EXPECT_EQ(window.next(), Step::probe);
  EXPECT_FALSE(window.probed("5:5:"));
  EXPECT_EQ(window.next(), Step::probe);
  EXPECT_EQ(window.window(), (Window{"5:5:", ""}));
}

TEST(SnapshotWindow, SameXmaxWithLessInProgressIsNew) {
  auto window = started("3:5:3");
  EXPECT_TRUE(window.probed("5:5:"));
  EXPECT_EQ(window.next(), Step::open);
  EXPECT_EQ(window.window(), (Window{"3:5:3", "5:5:"}));
}

TEST(SnapshotWindow, AnEmptyWindowMovesTheFirstSnapshot) {
  auto window = started("5:5:");
  window.probed("9:9:");
  EXPECT_FALSE(window.opened(std::nullopt));
  EXPECT_EQ(window.next(), Step::probe);
  EXPECT_EQ(window.window(), (Window{"9:9:", ""}));
}

TEST(SnapshotWindow, PagesUpToTheGreatestSeqThenEnds) {
  auto window = started("5:5:", "", 99);
  window.probed("9:9:");
  ASSERT_TRUE(window.opened(SnapshotWindow::Bounds{10, 40, 20}));
  EXPECT_EQ(window.last(), 10);  // the seq of an earlier window says nothing about this one
  EXPECT_EQ(window.fresh_lo(), 20);
  EXPECT_FALSE(window.read(25, false));
  EXPECT_EQ(window.next(), Step::page);
  EXPECT_EQ(window.last(), 25);
  EXPECT_TRUE(window.read(40, false));  // a full page that happens to be the last one
  EXPECT_EQ(window.next(), Step::probe);
  EXPECT_EQ(window.window(), (Window{"9:9:", ""}));
}

TEST(SnapshotWindow, AShortPageEndsTheWindow) {
  auto window = started("5:5:");
  window.probed("9:9:");
  window.opened(SnapshotWindow::Bounds{10, 40, 10});
  EXPECT_TRUE(window.read(30, true));  // the rest was deleted meanwhile
}

TEST(SnapshotWindow, OnlyLateRowsLeaveTheFreshBranchEmpty) {
  auto window = started("3:9:3");
  window.probed("9:9:");
  window.opened(SnapshotWindow::Bounds{1, 2, std::nullopt});
  EXPECT_EQ(window.fresh_lo(), window.hi());
}

TEST(SnapshotWindow, ARestartInsideAWindowKeepsItsSecondSnapshot) {
  auto window = started("5:5:", "9:9:", 25);
  EXPECT_EQ(window.next(), Step::open);
  EXPECT_TRUE(window.resumed());
  EXPECT_EQ(window.window(), (Window{"5:5:", "9:9:"}));
  ASSERT_TRUE(window.opened(SnapshotWindow::Bounds{10, 40, 10}));
  EXPECT_EQ(window.last(), 25);
  EXPECT_TRUE(window.read(40, true));
  EXPECT_FALSE(window.resumed());
  EXPECT_EQ(window.window(), (Window{"9:9:", ""}));
}

TEST(SnapshotWindow, AResumedWindowWithNothingLeftIsOver) {
  auto window = started("5:5:", "9:9:", 40);
  EXPECT_FALSE(window.opened(SnapshotWindow::Bounds{10, 40, 10}));
  EXPECT_EQ(window.window(), (Window{"9:9:", ""}));
}

}  // namespace
}  // namespace outbox
