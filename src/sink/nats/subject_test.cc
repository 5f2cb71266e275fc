#include "sink/nats/subject.h"

#include <gtest/gtest.h>

namespace outbox::nats {
namespace {

TEST(Subject, MayBePublishedTo) {
  for (const std::string subject : {"orders", "order.Placed", "order.com.acme.Placed", "bücher.neu", "a-b_c.%d/e"}) {
    EXPECT_EQ(subject_problem(subject), std::nullopt) << subject;
  }
  EXPECT_EQ(subject_problem(std::string(kSubjectMax, 'x')), std::nullopt);
}

// Case B145, and what is of its kind.
TEST(Subject, ThatBreaksTheLineOrGoesElsewhereIsRefused) {
  using namespace std::string_literals;
  for (const std::string& subject :
       {""s, "a b"s, "a..b"s, "a.*"s, "a.>"s, ".a"s, "a."s, "."s, "a\r\nPUB x 0"s, "a\tb"s, "a\0b"s, "a\x7f"s, "a*"s,
        "$JS.API.STREAM.DELETE.ORDERS"s, "$SYS.x"s, "_INBOX.x"s, "_INBOX"s, std::string(kSubjectMax + 1, 'x')}) {
    EXPECT_NE(subject_problem(subject), std::nullopt) << subject;
  }
}

TEST(Subject, TheProblemIsSaidWithoutControlCharacters) {
  EXPECT_EQ(*subject_problem("a\nb"),
            "the subject holds byte 0x0a at 1: blanks and control characters are not allowed");
}

TEST(Subject, TemplatesAreCheckedWithoutTheirFields) {
  EXPECT_TRUE(check_subject_template("{aggregate_type}.{type}"));
  EXPECT_TRUE(check_subject_template("shop.{aggregate_type}.{aggregate_id}"));
  EXPECT_TRUE(check_subject_template("orders"));
  for (const std::string subject : {"orders.*", "shop..{type}", "{type}.", "$JS.{type}", "a b"}) {
    const Result<void> checked = check_subject_template(subject);
    ASSERT_FALSE(checked) << subject;
    EXPECT_EQ(checked.failure().kind, FailureKind::invalid);
  }
}

}  // namespace
}  // namespace outbox::nats
