#include "sink/nats/answers.h"

#include <gtest/gtest.h>

namespace outbox::nats {
namespace {

std::string refusal(int error, const std::string& description) {
  return R"({"error":{"code":503,"err_code":)" + std::to_string(error) + R"(,"description":")" + description +
         R"("},"stream":"ORDERS","seq":0})";
}

void expect_busy(const Outcome& outcome, const std::string& reason) {
  EXPECT_EQ(outcome.verdict, Verdict::busy) << outcome.detail;
  EXPECT_EQ(outcome.scope, Scope::destination) << outcome.detail;
  EXPECT_EQ(outcome.reason, reason) << outcome.detail;
}

TEST(Answers, AConfirmationNamesItsPlace) {
  const Answer answer = read_answer(7, R"({"stream":"ORDERS", "seq":4711})");
  EXPECT_EQ(answer.id, 7u);
  EXPECT_EQ(answer.outcome.verdict, Verdict::delivered);
  EXPECT_EQ(answer.outcome.detail, "ORDERS/4711");
  EXPECT_EQ(answer.outcome.reason, "");
}

TEST(Answers, ARepeatIsDelivered) {
  const Answer answer = read_answer(7, R"({"stream":"ORDERS","domain":"hub","seq":3,"duplicate": true})");
  EXPECT_EQ(answer.outcome.verdict, Verdict::delivered);
  EXPECT_EQ(answer.outcome.detail, "ORDERS/3");
  EXPECT_EQ(answer.outcome.reason, "duplicate");
}

TEST(Answers, NoStreamIsTheDestinationsFault) { expect_busy(no_stream(7).outcome, "no_stream"); }

TEST(Answers, WhatTheStreamRefusesForNowWaits) {
  for (const std::string limit :
       {"maximum messages exceeded", "maximum bytes exceeded", "maximum messages per subject exceeded"}) {
    expect_busy(read_answer(7, refusal(10077, limit)).outcome, "stream_full");
  }
  expect_busy(read_answer(7, refusal(10077, "no space left on device")).outcome, "store_failed");
  expect_busy(read_answer(7, refusal(10109, "invalid operation on sealed stream")).outcome, "stream_sealed");
  expect_busy(read_answer(7, refusal(10047, "insufficient storage resources available")).outcome, "no_resources");
  expect_busy(read_answer(7, refusal(10008, "JetStream system temporarily unavailable")).outcome, "unavailable");
  expect_busy(read_answer(7, refusal(10039, "jetstream not enabled for account")).outcome, "no_jetstream");
  expect_busy(read_answer(7, refusal(10167, "too many requests")).outcome, "overloaded");
}

TEST(Answers, WhatIsTooLargeForTheStreamIsTheMessagesFault) {
  for (const auto& [error, text] :
       {std::pair(10054, "message size exceeds maximum allowed"), std::pair(10077, "message to large")}) {
    const Outcome outcome = read_answer(7, refusal(error, text)).outcome;
    EXPECT_EQ(outcome.verdict, Verdict::rejected);
    EXPECT_EQ(outcome.reason, "too_large");
    EXPECT_EQ(outcome.detail, "JetStream refused it: " + std::string(text) + " (" + std::to_string(error) + ")");
  }
}

TEST(Answers, AnErrorThatNobodyKnowsIsJudgedByTheRelay) {
  const Outcome outcome = read_answer(7, refusal(10999, "of tomorrow")).outcome;
  EXPECT_EQ(outcome.verdict, Verdict::unknown);
  EXPECT_EQ(outcome.reason, "jetstream_10999");
}

TEST(Answers, WhatIsNoAnswerOfAStreamConfirmsNothing) {
  for (const std::string body :
       {"", "ok", "{}", "[]", R"({"stream":"ORDERS"})", R"({"seq":3})", R"({"stream":"","seq":1})",
        R"({"other":{"stream":"ORDERS","seq":3}})", R"({"stream":"ORDERS","seq":3)"}) {
    expect_busy(read_answer(7, body).outcome, "no_jetstream");
  }
}

TEST(Answers, TheDeniedSubjectIsReadFromTheServersWords) {
  EXPECT_EQ(denied_subject(R"(Permissions Violation for Publish to "orders.x")"), "orders.x");
  EXPECT_EQ(denied_subject(R"(Permissions Violation for Subscription to "_INBOX.x.*")"), "");
  EXPECT_EQ(denied_subject("Authorization Violation"), "");
}

}  // namespace
}  // namespace outbox::nats
