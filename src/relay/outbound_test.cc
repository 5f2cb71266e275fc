#include "relay/outbound.h"

#include <gtest/gtest.h>

namespace outbox {
namespace {

// Of a key whose messages are all parked nothing stays in memory: there may be any number of them.
TEST(OutboundTest, ALineGoesWhenItHoldsNothingAndNothingOfItIsPending) {
  Outbound out({}, {}, {}, true);
  Line& line = out.line("order:1");
  ++line.parks_pending;
  out.wake(line);
  out.sweep();
  ASSERT_NE(out.find_line("order:1"), nullptr);
  --line.parks_pending;
  out.wake(line);
  out.keep_lines(true);
  out.sweep();
  ASSERT_NE(out.find_line("order:1"), nullptr) << "an answer about it is on its way";
  out.keep_lines(false);
  out.sweep();
  EXPECT_EQ(out.find_line("order:1"), nullptr);
}

}  // namespace
}  // namespace outbox
