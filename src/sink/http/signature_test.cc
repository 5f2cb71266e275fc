#include "sink/http/signature.h"

#include <gtest/gtest.h>

namespace outbox::http {
namespace {

std::string signature(std::string_view secret, std::string_view id, std::int64_t seconds, std::string_view body) {
  const auto parsed = WebhookSecret::parse(secret);
  EXPECT_TRUE(parsed) << (parsed ? "" : parsed.failure().what);
  return parsed ? parsed->sign(id, seconds, body) : "";
}

// The public vectors of the Standard Webhooks reference libraries.
TEST(Signature, PublicVectors) {
  EXPECT_EQ(signature("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330,
                      R"({"test": 2432232314})"),
            "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
  EXPECT_EQ(signature("whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD", "msg_27UH4WbU6Z5A5EzD8u03UvzRbpk", 1649367553,
                      R"({"email":"test@example.com","username":"test_user"})"),
            "v1,tZ1I4/hDygAJgO5TYxiSd6Sd0kDW6hPenDe+bTa3Kkw=");
}

TEST(Signature, TheSecretMayComeWithoutItsPrefix) {
  EXPECT_EQ(signature("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330,
                      R"({"test": 2432232314})"),
            "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
}

TEST(Signature, CoversEveryPart) {
  const std::string_view secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
  const std::string base = signature(secret, "a", 1, "b");
  EXPECT_NE(signature(secret, "c", 1, "b"), base);
  EXPECT_NE(signature(secret, "a", 2, "b"), base);
  EXPECT_NE(signature(secret, "a", 1, std::string_view("b\0", 2)), base);
  EXPECT_NE(signature(secret, "a", 1, ""), base);
}

TEST(WebhookSecret, RefusesWhatIsNoSecretAndDoesNotQuoteIt) {
  for (const char* text : {"", "whsec_", " ", "v1,whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_MfKQ9r8GKYqrTwjUPD8",
                           "whsec_MfKQ9r8G", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaS ", "whsec_TESTSECRET123",
                           "whsec_MfKQ9r8GKYqr=wjUPD8ILPZIo2LaLaS=", "my password is long enough for this"}) {
    const auto secret = WebhookSecret::parse(text);
    ASSERT_FALSE(secret) << text;
    EXPECT_EQ(secret.failure().kind, FailureKind::invalid);
    EXPECT_EQ(secret.failure().what.find("MfKQ"), std::string::npos);
    EXPECT_EQ(secret.failure().what.find("TESTSECRET"), std::string::npos);
  }
}

}  // namespace
}  // namespace outbox::http
