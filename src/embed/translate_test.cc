#include "embed/translate.h"

#include <gtest/gtest.h>

#include <functional>

#include "support/completion_log.h"

namespace outbox {
namespace {

using test::make_record;
using test::publication;

class Scripted : public MessageSink {
 public:
  explicit Scripted(std::function<DeliveryOutcome()> answer) : answer_(std::move(answer)) {}
  DeliveryOutcome deliver(const OutboundMessage&) override { return answer_(); }

 private:
  std::function<DeliveryOutcome()> answer_;
};

Outcome outcome_of(std::function<DeliveryOutcome()> answer, Record record = make_record(1, "a")) {
  Scripted sink(std::move(answer));
  return outcome_of_call(sink, publication(1, std::move(record), "mail"));
}

TEST(Translate, AMessageIsWhatWasEnqueued) {
  Record record = make_record(1, "4711", "{\"n\":1}");
  record.type = "OrderPlaced";
  record.headers = R"({"tenant":"north","tag":["a","b"]})";
  record.traceparent = "00-1-2-01";
  record.created_at = Time(Duration(77));
  record.aggregate_version = 9;
  Publication out = publication(1, std::move(record), "mail");
  out.attempt = 3;
  const auto message = to_message(out);
  ASSERT_TRUE(message);
  EXPECT_EQ(message->id, "m-1");
  EXPECT_EQ(message->aggregate_type, "order");
  EXPECT_EQ(message->aggregate_id, "4711");
  EXPECT_EQ(message->type, "OrderPlaced");
  EXPECT_EQ(message->payload, "{\"n\":1}");
  EXPECT_FALSE(message->payload_is_bytes);
  EXPECT_EQ(message->headers, (Headers{{"tenant", "north"}, {"tag", "a"}, {"tag", "b"}}));
  EXPECT_EQ(message->traceparent, "00-1-2-01");
  EXPECT_EQ(message->created_at, Time(Duration(77)));
  EXPECT_EQ(message->aggregate_version, 9);
  EXPECT_EQ(message->attempt, 3);
}

TEST(Translate, EachKindOfOutcome) {
  EXPECT_EQ(outcome_of([] { return DeliveryOutcome::delivered(); }).verdict, Verdict::delivered);
  const Outcome dead = outcome_of([] { return DeliveryOutcome::rejected("bad_address", "no mailbox"); });
  EXPECT_EQ(dead.verdict, Verdict::rejected);
  EXPECT_EQ(dead.reason, "bad_address");
  EXPECT_EQ(dead.detail, "no mailbox");
  const Outcome down = outcome_of([] { return DeliveryOutcome::unavailable("refused", "nobody listens"); });
  EXPECT_EQ(down.verdict, Verdict::busy);
  EXPECT_EQ(down.scope, Scope::destination);
  EXPECT_EQ(down.after, Duration(0));
  const Outcome later = outcome_of([] { return DeliveryOutcome::retry_after(7s, "slow_down", ""); });
  EXPECT_EQ(later.verdict, Verdict::busy);
  EXPECT_EQ(later.scope, Scope::destination);
  EXPECT_EQ(later.after, Duration(7s));
  EXPECT_EQ(outcome_of([] { return DeliveryOutcome::unknown("timeout", ""); }).verdict, Verdict::unknown);
}

TEST(Translate, AnExceptionIsUnknown) {
  const Outcome thrown = outcome_of([]() -> DeliveryOutcome { throw std::runtime_error("the line is dead"); });
  EXPECT_EQ(thrown.verdict, Verdict::unknown);
  EXPECT_EQ(thrown.reason, "exception");
  EXPECT_EQ(thrown.detail, "the line is dead");
  EXPECT_EQ(outcome_of([]() -> DeliveryOutcome { throw 7; }).verdict, Verdict::unknown);
}

// The database refuses such text, and what cannot be stored would be tried for ever.
TEST(Translate, WhateverTheUserSaysCanBeStored) {
  const std::string nul("a\0b", 3);
  const Outcome outcome = outcome_of(
      [&] { return DeliveryOutcome::rejected(std::string(100, 'r'), nul + "\xff\n" + std::string(2000, 'd')); });
  EXPECT_EQ(outcome.reason.size(), 64u);
  EXPECT_LE(outcome.detail.size(), 1024u);
  EXPECT_EQ(outcome.detail.find('\0'), std::string::npos);
  EXPECT_EQ(outcome.detail.find('\xff'), std::string::npos);
  EXPECT_EQ(outcome.detail.find('\n'), std::string::npos);
  EXPECT_EQ(outcome_of([] { return DeliveryOutcome::rejected("", ""); }).reason, "rejected");
}

TEST(Translate, HeadersThatAreNoneAreTheMessagesFault) {
  Record record = make_record(1, "a");
  record.headers = "[]";
  const Outcome outcome = outcome_of([] { return DeliveryOutcome::delivered(); }, record);
  EXPECT_EQ(outcome.verdict, Verdict::rejected);
  EXPECT_EQ(outcome.reason, "bad_headers");
}

}  // namespace
}  // namespace outbox
