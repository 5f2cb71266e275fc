// What goes over the wire: the request itself, headers, signatures, secrets.
#include "conformance/http_sink_fixture.h"
#include "sink/http/signature.h"

namespace outbox::test {
namespace {

class HttpWire : public HttpSinkTest {};

TEST_F(HttpWire, ARequestIsOneMessage) {
  open();
  Record record = make_record(1, "4711", "{\"a\": 1.0,\n\"b\":\"\xC3\xBC\"}");
  record.headers = R"({"tenant":"t1","tag":["x","y"],"empty":""})";
  EXPECT_EQ(words(send(record)), "delivered status 200");
  const auto request = stub_.requests().at(0);
  EXPECT_EQ(request.method, "POST");
  EXPECT_EQ(request.target, "/invoices");
  EXPECT_EQ(request.body, record.payload);
  EXPECT_EQ(request.header("idempotency-key"), "m-1");
  EXPECT_EQ(request.header("content-type"), "application/json");
  EXPECT_EQ(request.header("message-id"), "m-1");
  EXPECT_EQ(request.header("message-type"), "Placed");
  EXPECT_EQ(request.header("aggregate-type"), "order");
  EXPECT_EQ(request.header("aggregate-id"), "4711");
  EXPECT_EQ(request.header("tenant"), "t1");
  EXPECT_EQ(request.count("tag"), 2u);
  EXPECT_EQ(request.count("empty"), 1u);
  EXPECT_EQ(request.header("outbox-attempt"), "1");
  EXPECT_EQ(request.header("accept-encoding"), "identity");
  EXPECT_EQ(request.header("user-agent"), "outboxd/" OUTBOX_VERSION);
  EXPECT_EQ(request.header("content-length"), std::to_string(record.payload.size()));
  EXPECT_EQ(request.count("expect"), 0u);
  EXPECT_EQ(request.count("content-type"), 1u);
}

TEST_F(HttpWire, AnyBytesArriveAsTheyAre) {
  open({{"method", "PUT"}});
  Record record = make_record(1, "a", std::string("\0\r\n\xFF", 4));
  record.payload_json = false;
  EXPECT_EQ(words(send(record)), "delivered status 200");
  EXPECT_EQ(words(send(make_record(2, "a", ""))), "delivered status 200");
  EXPECT_EQ(words(send(make_record(3, "a", std::string(3'000'000, 'x')))), "delivered status 200");
  const auto requests = stub_.requests();
  EXPECT_EQ(requests.at(0).body, record.payload);
  EXPECT_EQ(requests.at(0).method, "PUT");
  EXPECT_EQ(requests.at(0).header("content-type"), "application/octet-stream");
  EXPECT_EQ(requests.at(1).body, "");
  EXPECT_EQ(requests.at(1).header("content-length"), "0");
  EXPECT_EQ(requests.at(2).body.size(), 3'000'000u);
  EXPECT_EQ(requests.at(2).count("expect"), 0u);
}

// Case B131: no body is not an empty one.
TEST_F(HttpWire, ANullPayloadIsNoEmptyBody) {
  open();
  Record record = make_record(1, "a", "");
  record.payload_null = true;
  EXPECT_EQ(words(send(record)), "rejected null_payload");
  EXPECT_EQ(words(send(make_record(2, "a", "null"))), "delivered status 200");
  ASSERT_EQ(stub_.request_count(), 1u);
  EXPECT_EQ(stub_.requests().at(0).body, "null");
}

TEST_F(HttpWire, TheIdStaysAndTheAttemptCounts) {
  std::size_t calls = 0;
  stub_.set_script([&](const StubRequest&) { return StubReply{.status = ++calls < 3 ? 500 : 200}; });
  open({{"sign.scheme", "standard-webhooks"}, {"sign.secret", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}});
  const Record record = make_record(1, "a");
  EXPECT_EQ(words(send(record, {}, 1)), "unknown http_500");
  EXPECT_EQ(words(send(record, {}, 2)), "unknown http_500");
  EXPECT_EQ(words(send(record, {}, 3)), "delivered status 200");
  const auto requests = stub_.requests();
  ASSERT_EQ(requests.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(requests[i].header("webhook-id"), "m-1");
    EXPECT_EQ(requests[i].header("idempotency-key"), "m-1");
    EXPECT_EQ(requests[i].header("outbox-attempt"), std::to_string(i + 1));
  }
}

TEST_F(HttpWire, TheSignatureCoversTheBytesThatWereSent) {
  const std::string secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
  open({{"sign.scheme", "standard-webhooks"}, {"sign.secret", secret}});
  EXPECT_EQ(words(send(make_record(1, "a", "{ \"odd\" :\t1.0 }"))), "delivered status 200");
  const auto request = stub_.requests().at(0);
  const std::string timestamp = request.header("webhook-timestamp");
  ASSERT_FALSE(timestamp.empty());
  EXPECT_EQ(request.header("webhook-signature"),
            http::WebhookSecret::parse(secret)->sign("m-1", std::stoll(timestamp), request.body));
}

TEST_F(HttpWire, AHeaderCannotBecomeAnother) {
  open();
  for (const char* headers :
       {R"({"x":"a\r\nX-Admin: 1"})", R"({"x":"a\nX-Admin: 1"})", R"({"x":"a\rb"})", R"({"x\r\nX-Admin":"1"})",
        R"({"x y":"1"})", R"({"x:":"1"})", R"({"Host":"evil.test"})", R"({"content-length":"0"})",
        R"({"Transfer-Encoding":"chunked"})", R"({"connection":"close"})", R"({"authorization":"Bearer x"})",
        R"({"webhook-id":"other"})", R"({"Idempotency-Key":"other"})", R"({"x":1})", "[]", "{"}) {
    Record record = make_record(1, "a");
    record.headers = headers;
    EXPECT_EQ(words(send(record)), "rejected bad_headers") << headers;
  }
  Record record = make_record(1, "a\r\nX-Admin: 1");
  EXPECT_EQ(words(send(record)), "rejected bad_headers");
  EXPECT_EQ(stub_.request_count(), 0u);
}

TEST_F(HttpWire, AUrlCannotBecomeAnother) {
  open();
  EXPECT_EQ(words(send(make_record(1, "a"), stub_.url("/a b\r\nX-Admin: 1/../c#d"))), "delivered status 200");
  const auto request = stub_.requests().at(0);
  EXPECT_EQ(request.target, "/a%20b%0D%0AX-Admin:%201/../c%23d");
  EXPECT_EQ(request.count("x-admin"), 0u);
  for (const char* url : {"/invoices", "ftp://127.0.0.1/", "http://", "http://user:password@127.0.0.1/"}) {
    EXPECT_EQ(words(send(make_record(2, "b"), url)), "rejected bad_url") << url;
  }
}

TEST_F(HttpWire, ConfiguredHeadersWinAndNeverShow) {
  stub_.set_script([](const StubRequest& request) {
    return StubReply{.status = 422, .body = "you sent " + request.header("authorization")};
  });
  open({{"headers", "Authorization=Bearer tok_ABC,X-Tenant=t2"}});
  Record record = make_record(1, "a");
  record.headers = R"({"x-tenant":"t1"})";
  const Outcome outcome = send(record);
  EXPECT_EQ(words(outcome), "rejected http_422");
  EXPECT_EQ(outcome.detail.find("tok_ABC"), std::string::npos) << outcome.detail;
  const auto request = stub_.requests().at(0);
  EXPECT_EQ(request.header("authorization"), "Bearer tok_ABC");
  EXPECT_EQ(request.header("x-tenant"), "t2");
  EXPECT_EQ(request.count("x-tenant"), 1u);
}

TEST_F(HttpWire, BadOptionsAreRefusedWithoutQuotingSecrets) {
  for (const Options& options :
       {Options{{"url", "/invoices"}}, Options{{"url", "https://{type}/"}}, Options{{"url", "https://u:p@host/"}},
        Options{{"sign.scheme", "standard-webhooks"}},
        Options{{"sign.scheme", "standard-webhooks"}, {"sign.secret", "whsec_"}},
        Options{{"sign.scheme", "standard-webhooks"}, {"sign.secret", "v1,whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}},
        Options{{"sign.scheme", "standard-webhooks"}, {"sign.secret", "whsec_TESTSECRET123"}},
        Options{{"sign.secret", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}}, Options{{"headers", "Host=x"}},
        Options{{"headers", "a b=TESTSECRET123"}}, Options{{"headers", "a=TESTSECRET123\x01"}},
        Options{{"answers", "40x=reject"}}, Options{{"tls.key", "key.pem"}}}) {
    const auto sink = create(options);
    ASSERT_FALSE(sink) << options.begin()->first << "=" << options.begin()->second;
    EXPECT_EQ(sink.failure().kind, FailureKind::invalid);
    EXPECT_EQ(sink.failure().what.find("TESTSECRET123"), std::string::npos) << sink.failure().what;
    EXPECT_EQ(sink.failure().what.find("MfKQ"), std::string::npos) << sink.failure().what;
  }
}

}  // namespace
}  // namespace outbox::test
