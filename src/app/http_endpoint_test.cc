#include "app/http_endpoint.h"

#include <gtest/gtest.h>

namespace outbox::app {
namespace {

TEST(ParseRequest, TakesOneRequestAtATime) {
  std::string buffer =
      "POST /invoices HTTP/1.1\r\nHost: x\r\nIdempotency-Key:  a-1 \r\ncontent-length: 4\r\n\r\nbodyPOST / "
      "HTTP/1.1\r\n";
  HttpRequest request;
  ASSERT_TRUE(*parse_request(buffer, request));
  EXPECT_EQ(request.header("idempotency-key"), "a-1");
  EXPECT_EQ(request.body, "body");
  EXPECT_EQ(request.header("none"), "");
  EXPECT_EQ(buffer, "POST / HTTP/1.1\r\n");
  EXPECT_FALSE(*parse_request(buffer, request));
}

TEST(ParseRequest, WaitsForTheWholeBody) {
  std::string buffer = "POST / HTTP/1.1\r\nContent-Length: 4\r\n\r\nbod";
  HttpRequest request;
  EXPECT_FALSE(*parse_request(buffer, request));
  buffer += "y";
  EXPECT_TRUE(*parse_request(buffer, request));
  EXPECT_TRUE(buffer.empty());
}

TEST(ParseRequest, RefusesWhatIsNoRequest) {
  for (const std::string text :
       {"hello\r\n\r\n", "POST / HTTP/1.1\r\n\r\n", "POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        "POST / HTTP/1.1\r\nContent-Length: 9999999\r\n\r\n", "POST / HTTP/1.1\r\nno colon\r\n\r\n"}) {
    std::string buffer = text;
    HttpRequest request;
    EXPECT_FALSE(parse_request(buffer, request)) << text;
  }
  std::string endless(2'000'000, 'x');
  HttpRequest request;
  EXPECT_FALSE(parse_request(endless, request));
}

}  // namespace
}  // namespace outbox::app
