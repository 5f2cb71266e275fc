#include "sink/http/url.h"

#include <gtest/gtest.h>

namespace outbox::http {
namespace {

std::string endpoint(std::string_view url) {
  const auto target = parse_url(url);
  return target ? target->endpoint : "refused";
}

std::string sent(std::string_view url) {
  const auto target = parse_url(url);
  return target ? target->url : "refused";
}

TEST(Url, AnEndpointIsSchemeHostAndPort) {
  EXPECT_EQ(endpoint("https://api.example.test/invoices?a=b"), "https://api.example.test:443");
  EXPECT_EQ(endpoint("http://LOCALHOST:8080"), "http://localhost:8080");
  EXPECT_EQ(endpoint("http://[::1]/"), "http://[::1]:80");
}

TEST(Url, RefusesWhatIsNoPlaceToSendTo) {
  for (const char* url : {"", "/invoices", "ftp://host/", "file:///etc/passwd", "http://", "http:///path", "http:/path",
                          "https://user@host/", "https://user:secret@host/", "http://a b/", "http://host:99999/",
                          "javascript:alert(1)"}) {
    EXPECT_EQ(endpoint(url), "refused") << url;
  }
}

TEST(Url, BytesThatNoUrlMayHoldAreEncoded) {
  EXPECT_EQ(sent("http://h/a b\r\nX: 1"), "http://h/a%20b%0D%0AX:%201");
  EXPECT_EQ(sent("http://h/\xC3\xBC#top"), "http://h/%C3%BC%23top");
  EXPECT_EQ(sent("http://h/a%20b/../c?d={e}"), "http://h/a%20b/../c?d=%7Be%7D");
}

TEST(UrlTemplate, FieldsStandBehindTheHost) {
  for (const char* address : {"https://h/x", "https://h:8443/{type}/{aggregate_id}", "http://h?id={id}"}) {
    EXPECT_TRUE(check_url_template(address)) << address;
  }
  for (const char* address : {"https://{aggregate_id}/x", "{type}://h/", "https://h{id}", "https://h.{id}/x", "h/{id}",
                              "https://h@{id}/", "https://h:{id}/"}) {
    EXPECT_FALSE(check_url_template(address)) << address;
  }
}

TEST(UrlField, CannotChangeTheUrlAroundIt) {
  EXPECT_EQ(escape_url_field("Aa0-._~"), "Aa0-._~");
  EXPECT_EQ(escape_url_field("a/b?c#d%&=@:"), "a%2Fb%3Fc%23d%25%26%3D%40%3A");
  EXPECT_EQ(escape_url_field(".."), "%2E%2E");
  EXPECT_EQ(escape_url_field("..."), "...");
  EXPECT_EQ(escape_url_field("\xC3\xBC\n"), "%C3%BC%0A");
}

}  // namespace
}  // namespace outbox::http
