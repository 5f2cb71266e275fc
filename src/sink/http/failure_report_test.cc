#include "sink/http/failure_report.h"

#include <gtest/gtest.h>

namespace outbox::http {
namespace {

std::string described(const std::string& url, int status, const std::string& location, const std::string& body) {
  HttpOptions options;
  options.headers = {{"Authorization", "Bearer tok_ABC"}};
  return describe_answer(*parse_url(url), status, location, body, options);
}

TEST(FailureReport, SaysWhoAnsweredWhat) {
  EXPECT_EQ(described("https://api.test/orders", 422, "", "no such\norder"),
            "https://api.test:443 answered 422: no such order");
  EXPECT_EQ(described("https://api.test/orders", 301, " /v2/orders", ""),
            "https://api.test:443 answered 301; redirects are never followed, write the address it names: /v2/orders");
}

// Case B223: an endpoint that says back what it was sent.
TEST(FailureReport, WhatIsEchoedHoldsNoSecret) {
  const std::string url = "http://hooks.test/services/T0123456789abcdef/x?key=s3cret&sure&n=1";
  EXPECT_EQ(described(url, 308, "https://hooks.test/services/T0123456789abcdef/x?key=s3cret&n=1#tok_ABC", ""),
            "http://hooks.test:80 answered 308; redirects are never followed, write the address it names: "
            "https://hooks.test/services/***/x?key=***&n=1#***");
  EXPECT_EQ(described(url, 404, "", "Cannot POST /services/T0123456789abcdef/x; Bearer tok_ABC; s3cret; tok_ABC"),
            "http://hooks.test:80 answered 404: Cannot POST /services/***/x; ***; ***; ***");
}

// A secret that begins within what is shown and ends behind it.
TEST(FailureReport, NoHalfOfASecretIsShown) {
  for (std::size_t before = 290; before < 301; ++before) {
    const std::string text = described("http://h.test/", 500, "", std::string(before, 'x') + "tok_ABC");
    EXPECT_EQ(text.find("tok"), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace outbox::http
