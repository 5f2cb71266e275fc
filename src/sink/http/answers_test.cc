#include "sink/http/answers.h"

#include <gtest/gtest.h>

namespace outbox::http {
namespace {

// verdict:scope:reason, for tables.
std::string word(const Outcome& outcome) {
  switch (outcome.verdict) {
    case Verdict::delivered: return "delivered";
    case Verdict::rejected: return "rejected " + outcome.reason;
    case Verdict::unknown: return "unknown " + outcome.reason;
    case Verdict::client_dead: return "client_dead";
    case Verdict::busy: break;
  }
  return std::string(outcome.scope == Scope::destination ? "destination " : "message ") + outcome.reason;
}

std::string judged(int status, const std::map<std::string, std::string>& overrides = {}) {
  const auto answers = Answers::parse(overrides);
  EXPECT_TRUE(answers) << (answers ? "" : answers.failure().what);
  return word(answers->judge({status, {}, ""}));
}

TEST(Answers, AreThoseOfTheInterface) {
  const std::map<int, std::string> table{{200, "delivered"},
                                         {201, "delivered"},
                                         {204, "delivered"},
                                         {299, "delivered"},
                                         {301, "destination redirect"},
                                         {304, "destination redirect"},
                                         {308, "destination redirect"},
                                         {400, "rejected http_400"},
                                         {401, "destination credentials"},
                                         {402, "rejected http_402"},
                                         {403, "unknown http_403"},
                                         {404, "unknown http_404"},
                                         {405, "rejected http_405"},
                                         {407, "destination credentials"},
                                         {408, "destination http_408"},
                                         {409, "message conflict"},
                                         {410, "unknown http_410"},
                                         {413, "rejected http_413"},
                                         {422, "rejected http_422"},
                                         {425, "destination http_425"},
                                         {429, "destination http_429"},
                                         {451, "rejected http_451"},
                                         {500, "unknown http_500"},
                                         {501, "unknown http_501"},
                                         {503, "unknown http_503"},
                                         {599, "unknown http_599"},
                                         {600, "unknown http_600"},
                                         {999, "unknown http_999"},
                                         {0, "unknown http_0"}};
  for (const auto& [status, expected] : table) EXPECT_EQ(judged(status), expected) << status;
}

TEST(Answers, RetryAfterTravelsAlong) {
  const auto answers = Answers::parse({});
  for (const int status : {408, 425, 429, 503}) {
    const Outcome outcome = answers->judge({status, Duration(7s), ""});
    EXPECT_EQ(outcome.verdict, Verdict::busy) << status;
    EXPECT_EQ(outcome.scope, Scope::destination) << status;
    EXPECT_EQ(outcome.after, Duration(7s)) << status;
  }
  EXPECT_EQ(answers->judge({409, Duration(3s), ""}).after, Duration(3s));
  EXPECT_EQ(answers->judge({500, Duration(7s), ""}).verdict, Verdict::unknown);
}

TEST(Answers, AConfigurationChangesThem) {
  EXPECT_EQ(judged(404, {{"404", "reject"}}), "rejected http_404");
  EXPECT_EQ(judged(409, {{"409", "delivered"}}), "delivered");
  EXPECT_EQ(judged(500, {{"5xx", "retry_destination"}}), "destination http_500");
  EXPECT_EQ(judged(501, {{"5xx", "retry_destination"}, {"501", "reject"}}), "rejected http_501");
  EXPECT_EQ(judged(422, {{"4xx", "retry_message"}}), "message http_422");
  EXPECT_EQ(judged(202, {{"202", "unknown"}}), "unknown http_202");
  EXPECT_EQ(judged(404, {{"5xx", "reject"}}), "unknown http_404");
}

TEST(Answers, RefusesWhatItDoesNotUnderstand) {
  for (const auto& [key, value] : std::map<std::string, std::string>{{"404", "dead"},
                                                                     {"40x", "reject"},
                                                                     {"1xx", "reject"},
                                                                     {"600", "reject"},
                                                                     {"4", "reject"},
                                                                     {"", "reject"},
                                                                     {"4XX", "reject"},
                                                                     {"4040", "reject"},
                                                                     {"500", ""}}) {
    const auto answers = Answers::parse({{key, value}});
    ASSERT_FALSE(answers) << key << " " << value;
    EXPECT_EQ(answers.failure().kind, FailureKind::invalid);
    EXPECT_NE(answers.failure().what.find('"' + key + '"'), std::string::npos);
  }
}

}  // namespace
}  // namespace outbox::http
