// What endpoints and networks do, and what the sink makes of it.
#include <atomic>
#include <set>

#include "conformance/http_sink_fixture.h"

namespace outbox::test {
namespace {

class HttpFaults : public HttpSinkTest {
 protected:
  void reply(StubReply reply) {
    stub_.set_script([reply](const StubRequest&) { return reply; });
  }
};

TEST_F(HttpFaults, ARedirectIsNeverFollowed) {
  HttpStub inner;
  open();
  for (const int status : {301, 302, 303, 307, 308}) {
    reply({.status = status, .headers = {{"Location", inner.url("/admin")}}});
    const Outcome outcome = send(make_record(status, "a"));
    EXPECT_EQ(words(outcome), "busy destination redirect") << status;
    EXPECT_NE(outcome.detail.find("/admin"), std::string::npos) << outcome.detail;
  }
  EXPECT_EQ(inner.connection_count(), 0u);
}

TEST_F(HttpFaults, RetryAfterIsPassedOn) {
  open();
  const auto after = [&](int status, const std::string& value) {
    reply({.status = status, .headers = {{"Retry-After", value}}});
    const Outcome outcome = send(make_record(1, "a"));
    EXPECT_EQ(outcome.verdict, Verdict::busy) << value;
    EXPECT_EQ(outcome.scope, Scope::destination) << value;
    return outcome.after;
  };
  EXPECT_EQ(after(429, "7"), Duration(7s));
  EXPECT_EQ(after(503, "120"), Duration(2min));
  EXPECT_EQ(after(429, "9999999999"), Duration(24h));
  EXPECT_EQ(after(429, "Fri, 31 Dec 9999 23:59:59 GMT"), Duration(24h));
  for (const char* none : {"Wed, 21 Oct 2015 07:28:00 GMT", "-5", "", "1e400", "120, 60"}) {
    EXPECT_EQ(after(429, none), Duration(0)) << none;
  }
}

TEST_F(HttpFaults, AnAnswerThatTricklesEndsAtTheTotalTimeout) {
  reply({.manner = StubReply::Manner::trickle, .pause = std::chrono::milliseconds(20)});
  open({{"timeout.total", "300ms"}});
  EXPECT_EQ(words(send(make_record(1, "a"))), "unknown timeout");
}

TEST_F(HttpFaults, NoAnswerIsATimeout) {
  reply({.manner = StubReply::Manner::hang});
  open({{"timeout.total", "300ms"}});
  EXPECT_EQ(words(send(make_record(1, "a"))), "unknown timeout");
  EXPECT_EQ(stub_.request_count(), 1u);
}

TEST_F(HttpFaults, ALongAnswerIsCutAndCountsByItsStatus) {
  open();
  reply({.status = 200, .body = std::string(10'000'000, 'x')});
  EXPECT_EQ(words(send(make_record(1, "a"))), "delivered status 200");
  reply({.status = 500, .body = std::string(300'000, 'x')});
  const Outcome outcome = send(make_record(2, "a"));
  EXPECT_EQ(words(outcome), "unknown http_500");
  EXPECT_LE(outcome.detail.size(), 1024u);
  reply({.status = 200});
  EXPECT_EQ(words(send(make_record(3, "a"))), "delivered status 200");
}

// libcurl would send the request again by itself on a fresh connection.
TEST_F(HttpFaults, EveryRepeatIsAnAttempt) {
  for (const auto manner : {StubReply::Manner::close, StubReply::Manner::reset}) {
    for (const std::string& payload : {std::string("{}"), std::string(), std::string(2'000'000, 'x')}) {
      HttpStub stub;
      std::size_t calls = 0;
      stub.set_script([&](const StubRequest&) { return ++calls == 2 ? StubReply{.manner = manner} : StubReply{}; });
      open();
      EXPECT_EQ(words(send(make_record(1, "a"), stub.url())), "delivered status 200");
      EXPECT_EQ(words(send(make_record(2, "a", payload), stub.url())), "unknown connection_lost");
      EXPECT_EQ(stub.request_count(), 2u);
      EXPECT_EQ(words(send(make_record(2, "a", payload), stub.url(), 2)), "delivered status 200");
      const auto requests = stub.requests();
      ASSERT_EQ(requests.size(), 3u);
      EXPECT_EQ(requests[1].connection, requests[0].connection) << "the second was meant to reuse the connection";
      EXPECT_EQ(requests[1].header("outbox-attempt"), "1");
      EXPECT_EQ(requests[2].header("outbox-attempt"), "2");
      EXPECT_EQ(requests[2].header("idempotency-key"), "m-2");
      sink_->close();
    }
  }
}

TEST_F(HttpFaults, ConnectionsAreReused) {
  open();
  for (int i = 0; i < 50; ++i) EXPECT_EQ(words(send(make_record(i, "a"))), "delivered status 200");
  EXPECT_EQ(stub_.connection_count(), 1u);
}

TEST_F(HttpFaults, WhatIsNotHttpIsUnknown) {
  open();
  reply({.body = "garbage\r\n\r\n", .manner = StubReply::Manner::raw});
  EXPECT_EQ(words(send(make_record(1, "a"))), "unknown bad_answer");
  reply({.body = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort", .manner = StubReply::Manner::raw});
  EXPECT_EQ(words(send(make_record(2, "a"))), "unknown connection_lost");
  reply({.body = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n", .manner = StubReply::Manner::raw});
  EXPECT_EQ(words(send(make_record(3, "a"))), "delivered status 204");
}

TEST_F(HttpFaults, NobodyThereIsTheDestinationsFault) {
  open({{"timeout.connect", "2s"}});
  EXPECT_EQ(words(send(make_record(1, "a"), "http://127.0.0.1:" + std::to_string(closed_port()) + "/")),
            "busy destination refused");
  EXPECT_EQ(words(send(make_record(2, "a"), "http://no-such-host.invalid/")), "busy destination dns");
}

TEST_F(HttpFaults, ASlowEndpointKeepsToItsShare) {
  HttpStub slow([](const StubRequest&) { return StubReply{.manner = StubReply::Manner::hang}; });
  open({{"timeout.total", "60s"}, {"concurrency", "8"}});
  std::vector<Publication> batch;
  for (int i = 0; i < 200; ++i) {
    batch.push_back(publication(static_cast<DeliveryId>(1000 + i), make_record(i, std::to_string(i)), slow.url()));
  }
  for (int i = 0; i < 200; ++i) {
    batch.push_back(
        publication(static_cast<DeliveryId>(2000 + i), make_record(i, "f" + std::to_string(i)), stub_.url()));
  }
  sink_->publish(batch);
  for (int i = 0; i < 200; ++i) {
    ASSERT_EQ(words(log_.wait_for(static_cast<DeliveryId>(2000 + i))), "delivered status 200");
  }
  ASSERT_TRUE(slow.wait_for_requests(8));
  EXPECT_EQ(log_.count(), 200u);
  EXPECT_EQ(slow.request_count(), 8u);
  EXPECT_EQ(slow.connection_count(), 8u);
  slow.release();
  EXPECT_TRUE(log_.wait(400));
}

TEST_F(HttpFaults, PrivateAddressesAreRefusedBeforeAnyConnection) {
  open({{"private_networks", "refuse"}});
  const std::string port = std::to_string(stub_.port());
  for (const std::string host : {"127.0.0.1", "localhost", "0x7f.1", "2130706433", "0.0.0.0", "[::ffff:127.0.0.1]",
                                 "[::ffff:7f00:1]", "[::1]", "[::]", "[64:ff9b::7f00:1]", "[fe80::1]", "[fc00::1]"}) {
    EXPECT_EQ(words(send(make_record(1, "a"), "http://" + host + ":" + port + "/")), "busy destination private_address")
        << host;
  }
  EXPECT_EQ(stub_.connection_count(), 0u);
}

TEST_F(HttpFaults, ProxiesOfTheEnvironmentAreIgnored) {
  ::setenv("http_proxy", ("http://127.0.0.1:" + std::to_string(closed_port())).c_str(), 1);
  open();
  EXPECT_EQ(words(send(make_record(1, "a"))), "delivered status 200");
  ::unsetenv("http_proxy");
}

TEST_F(HttpFaults, AnAnswerMayBeGivenAnotherMeaning) {
  open({{"answers", "404=reject,5xx=retry_destination,409=delivered"}});
  reply({.status = 404});
  EXPECT_EQ(words(send(make_record(1, "a"))), "rejected http_404");
  reply({.status = 500});
  EXPECT_EQ(words(send(make_record(2, "a"))), "busy destination http_500");
  reply({.status = 409});
  EXPECT_EQ(words(send(make_record(3, "a"))), "delivered status 409");
}

TEST_F(HttpFaults, CloseDoesNotWaitForASlowNameOrHost) {
  open({{"timeout.connect", "60s"}, {"timeout.total", "60s"}});
  reply({.manner = StubReply::Manner::hang});
  const DeliveryId hanging = publish(make_record(1, "a"));
  ASSERT_TRUE(stub_.wait_for_requests(1));
  sink_->close();
  EXPECT_EQ(words(log_.wait_for(hanging)), "unknown closed");
}

}  // namespace
}  // namespace outbox::test
