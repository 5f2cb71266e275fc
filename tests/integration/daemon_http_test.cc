// Endpoints that fail, and what the daemon makes of it: order, attempts, breakers, repeats. The numbers are those of
// the cases that broke others.
#include <atomic>
#include <map>

#include "integration/daemon_fixture.h"

namespace outbox::test {
namespace {

using namespace std::chrono_literals;

using DaemonHttp = DaemonTest;

const std::string kQuick = "retry: { base: 20ms, cap: 100ms }\nbreaker: { failures: 5, open: 100ms, cap: 400ms }\n";

// B081: a failed message holds back the later ones of its own key and nobody else's.
TEST_F(DaemonHttp, AFailedMessageIsNotOvertakenInItsKey) {
  std::atomic<int> failures = 0;
  HttpStub stub(
      [&](const StubRequest& request) { return StubReply{request.body == "[\"A\"]" && ++failures <= 2 ? 503 : 200}; });
  configure(http_sink("events", stub), "  - { sink: events }\n", kQuick);
  const auto a = send("K", "T", "[\"A\"]");
  const auto b = send("K", "T", "[\"B\"]");
  const auto l = send("L");
  auto relay = daemon_.start();
  ASSERT_TRUE(stub.wait_for_requests(5)) << relay->standard_error();
  std::vector<std::string> of_k;
  for (const auto& id : ids_of(stub.requests())) {
    if (id != l) of_k.push_back(id);
  }
  EXPECT_EQ(of_k, (std::vector<std::string>{a, a, a, b}));
  EXPECT_EQ(stop(*relay), 0) << relay->standard_error();
}

// B085, B151: one endpoint that hangs holds up neither the other endpoint nor more than its share of requests.
TEST_F(DaemonHttp, ASlowEndpointHoldsUpNobodyElse) {
  HttpStub slow([](const StubRequest&) { return StubReply{.manner = StubReply::Manner::hang}; });
  HttpStub fast;
  configure(http_sink("slow", slow, ", concurrency: 4, timeout: { connect: 2s, total: 60s }") + http_sink("fast", fast),
            "  - { sink: slow, type: S }\n  - { sink: fast, type: F }\n");
  for (int i = 0; i < 200; ++i) send("s" + std::to_string(i), "S");
  for (int i = 0; i < 200; ++i) send("f" + std::to_string(i), "F");
  auto relay = daemon_.start();
  ASSERT_TRUE(fast.wait_for_requests(200)) << relay->standard_error();
  ASSERT_TRUE(slow.wait_for_requests(4)) << relay->standard_error();
  EXPECT_EQ(slow.request_count(), 4u);
  slow.set_script([](const StubRequest&) { return StubReply{}; });
  slow.release();
  ASSERT_TRUE(eventually(60s, [&] { return slow.request_count() >= 200; })) << relay->standard_error();
  EXPECT_EQ(stop(*relay), 0) << relay->standard_error();
  EXPECT_EQ(count("dead"), "0");
}

// B101: an outage uses up nobody's attempts.
TEST_F(DaemonHttp, AnOutageUsesUpNoAttempts) {
  HttpStub stub;
  configure(http_sink("events", stub), "  - { sink: events }\n",
            "retry: { base: 5ms, cap: 10ms, attempts: 5 }\nbreaker: { failures: 3, open: 20ms, cap: 50ms }\n");
  for (int i = 0; i < 1000; ++i) send(std::to_string(i % 50));
  stub.go_down();
  auto relay = daemon_.start();
  const int port = admin_port(*relay);
  // Far more tries than a message has attempts.
  ASSERT_TRUE(eventually(60s, [&] {
    const std::string tries =
        sample(get(port, "/metrics").body, "outbox_attempts_total{outcome=\"busy\",sink=\"events\"}");
    return !tries.empty() && std::stod(tries) > 20;
  })) << get(port, "/metrics").body;
  // What it says is renewed every 100 ms.
  EXPECT_TRUE(eventually(10s, [&] { return get(port, "/readyz").status == 503; })) << get(port, "/readyz").body;
  EXPECT_EQ(count("dead"), "0");
  stub.come_up();
  ASSERT_TRUE(stub.wait_for_requests(1000, 60s)) << relay->standard_error();
  EXPECT_TRUE(eventually(30s, [&] { return get(port, "/readyz").status == 200; }));
  EXPECT_EQ(attempts_used(), "0");
  EXPECT_EQ(stop(*relay), 0) << relay->standard_error();
  EXPECT_EQ(daemon_.run({"run", "--once"}).code, 0);
  EXPECT_EQ(count("dead"), "0");
}

// Each message has a path of its own; the host is down for all of them.
TEST_F(DaemonHttp, AnOutageBehindATemplateIsOneOutage) {
  HttpStub stub;
  configure("  events: { type: http, url: \"" + stub.url("/orders/{aggregate_id}") + "\", from: beginning }\n",
            "  - { sink: events }\n", "breaker: { failures: 3, open: 20ms, cap: 50ms }\n");
  for (int i = 0; i < 200; ++i) send(std::to_string(i));
  stub.go_down();
  const Ran once = daemon_.run({"run", "--once"});
  EXPECT_EQ(once.code, 1) << once.err;
  EXPECT_EQ(database_->value("select count(*) from outbox_delivery"), "0");
  auto relay = daemon_.start();
  const int port = admin_port(*relay);
  EXPECT_TRUE(eventually(30s, [&] { return get(port, "/readyz").status == 503; })) << get(port, "/readyz").body;
  stub.come_up();
  ASSERT_TRUE(stub.wait_for_requests(200, 60s)) << relay->standard_error();
  EXPECT_EQ(stop(*relay), 0) << relay->standard_error();
  EXPECT_EQ(attempts_used(), "0");
}

// B103: whatever a probe meets, the breaker gets another one.
TEST_F(DaemonHttp, AFailedProbeIsFollowedByAnother) {
  std::atomic<int> probe = 0;
  HttpStub stub([&](const StubRequest&) {
    const int n = ++probe;
    if (n <= 5) return StubReply{503};
    if (n == 6) return StubReply{.manner = StubReply::Manner::hang};
    if (n == 7) return StubReply{.manner = StubReply::Manner::reset};
    return StubReply{};
  });
  configure(http_sink("events", stub, ", concurrency: 1, timeout: { connect: 300ms, total: 300ms }"),
            "  - { sink: events }\n",
            "retry: { base: 10ms, cap: 20ms }\nbreaker: { failures: 5, open: 200ms, cap: 400ms }\n");
  for (int i = 0; i < 10; ++i) send("K");  // one at a time, so that the sixth try and the seventh are probes
  auto relay = daemon_.start();
  const int port = admin_port(*relay);
  ASSERT_TRUE(eventually(60s, [&] { return probe >= 17; })) << relay->standard_error();
  EXPECT_TRUE(eventually(30s, [&] { return get(port, "/readyz").status == 200; })) << get(port, "/readyz").body;
  EXPECT_EQ(stop(*relay), 0) << relay->standard_error();
  EXPECT_EQ(count("dead"), "0");
  EXPECT_EQ(probe, 17);
}

// B037: what is at its last attempt and older than all others keeps nothing from the endpoint, also when it is tried
// first after a restart and only failures are seen.
TEST_F(DaemonHttp, OldFailuresDoNotKeepNewMessagesFromAProbe) {
  std::atomic<bool> failing = true;
  HttpStub stub([&](const StubRequest& request) {
    const bool bad = request.body == "[]";
    return StubReply{!bad ? 200 : failing ? 500 : 409};
  });
  configure(http_sink("events", stub), "  - { sink: events }\n",
            "retry: { base: 20ms, cap: 50ms, attempts: 3 }\nbreaker: { failures: 5, open: 1s, cap: 1m }\n");
  failing = false;  // refused one by one: all are parked
  for (int i = 0; i < 10; ++i) send("bad" + std::to_string(i), "T", "[]");
  EXPECT_EQ(daemon_.run({"run", "--once"}).code, 1);
  ASSERT_EQ(count("dead"), "10");
  database_->execute("update outbox_delivery set state = 'waiting', attempts = 2, next_attempt_at = now()");
  failing = true;
  for (int i = 0; i < 5; ++i) send("good" + std::to_string(i));
  const auto before = stub.request_count();
  auto relay = daemon_.start();
  EXPECT_TRUE(eventually(60s, [&] { return count("dead") == "10"; })) << relay->standard_error();
  EXPECT_EQ(stop(*relay), 0) << relay->standard_error();
  std::size_t good = 0, probes = 0;
  for (const auto& request : stub.requests()) {
    if (request.body != "[]") ++good;
    if (request.body == "[]" && good == 0) ++probes;
  }
  EXPECT_EQ(good, 5u);
  // Each was tried once before the breaker had opened; then no more of them before the first good one.
  EXPECT_LE(probes, before + 10);
}

// B157: every try of a message carries the same id.
TEST_F(DaemonHttp, EachTryCarriesTheSameId) {
  std::atomic<int> tries = 0;
  HttpStub stub([&](const StubRequest&) { return StubReply{++tries <= 2 ? 500 : 200}; });
  configure(http_sink("events", stub,
                      ", sign: { scheme: standard-webhooks, secret: whsec_VEVTVFNFQ1JFVDEyMzQ1Njc4OTBhYmNk }"),
            "  - { sink: events }\n", kQuick);
  const auto id = send("1");
  EXPECT_EQ(daemon_.run({"run", "--once"}).code, 0);
  const auto requests = stub.requests();
  ASSERT_EQ(requests.size(), 3u);
  for (std::size_t i = 0; i < requests.size(); ++i) {
    EXPECT_EQ(requests[i].header("idempotency-key"), id);
    EXPECT_EQ(requests[i].header("webhook-id"), id);
    EXPECT_EQ(requests[i].header("outbox-attempt"), std::to_string(i + 1));
  }
}

// B159: of three sinks the one that failed gets it again, the others do not.
TEST_F(DaemonHttp, OnlyTheSinkThatFailedGetsItAgain) {
  std::atomic<int> tries = 0;
  HttpStub a;
  HttpStub b([&](const StubRequest&) { return StubReply{++tries <= 3 ? 500 : 200}; });
  HttpStub c;
  configure(http_sink("a", a) + http_sink("b", b) + http_sink("c", c),
            "  - { sink: a }\n  - { sink: b }\n  - { sink: c }\n", kQuick);
  send("1");
  EXPECT_EQ(daemon_.run({"run", "--once"}).code, 0);
  EXPECT_EQ(a.request_count(), 1u);
  EXPECT_EQ(b.request_count(), 4u);
  EXPECT_EQ(c.request_count(), 1u);
}

// B047: while the mark cannot be written, the book-keeping is repeated and the publishing is not.
TEST_F(DaemonHttp, AMarkThatCannotBeWrittenIsRepeatedAlone) {
  HttpStub stub;
  database_->execute(
      "create table outbox (id uuid primary key, aggregatetype varchar(255) not null, aggregateid varchar(255) not "
      "null,"
      " type varchar(255) not null, payload jsonb not null, created_at timestamptz default now(), published_at "
      "timestamptz);"
      "create function refuse() returns trigger language plpgsql as $$ begin raise exception 'the archive is full'; "
      "end $$;"
      "create trigger refuse before update on outbox for each row execute function refuse();"
      "insert into outbox select gen_random_uuid(), 'order', i, 'T', '{}', now() + i * interval '1 us' from"
      " generate_series(1, 20) i");
  configure(http_sink("events", stub), "  - { sink: events }\n", "outbox: { columns: { order: created_at } }\n");
  auto relay = daemon_.start();
  ASSERT_TRUE(stub.wait_for_requests(20)) << relay->standard_error();
  EXPECT_TRUE(eventually(30s, [&] { return relay->standard_error().find("the archive is full") != std::string::npos; }))
      << relay->standard_error();
  EXPECT_FALSE(relay->wait(2s)) << relay->standard_error();
  const int port = admin_port(*relay);
  const Page page = get(port, "/readyz");
  EXPECT_EQ(page.status, 503);
  EXPECT_NE(page.body.find("the archive is full"), std::string::npos) << page.body;
  EXPECT_EQ(stub.request_count(), 20u);
  EXPECT_EQ(database_->value("select count(*) from outbox where published_at is null"), "20");
  database_->execute("drop trigger refuse on outbox");
  EXPECT_TRUE(eventually(30s, [&] {
    return database_->value("select count(*) from outbox where published_at is null") == "0";
  })) << relay->standard_error();
  EXPECT_TRUE(eventually(30s, [&] { return get(port, "/readyz").status == 200; })) << get(port, "/readyz").body;
  EXPECT_EQ(stop(*relay), 0) << relay->standard_error();
  EXPECT_EQ(stub.request_count(), 20u);
  EXPECT_EQ(attempts_used(), "0");
}

// B039: nobody listens: tries follow the backoff, and the log says it once per try at most.
TEST_F(DaemonHttp, AClosedPortIsTriedByTheBackoff) {
  const std::string port = std::to_string(closed_port());
  configure("  events: { type: http, url: \"http://127.0.0.1:" + port + "/\", from: beginning }\n",
            "  - { sink: events }\n", "breaker: { failures: 1, open: 250ms, cap: 60s }\n");
  send("1");
  auto relay = daemon_.start();
  const int admin = admin_port(*relay);
  const auto tries = [&] {
    const std::string text =
        sample(get(admin, "/metrics").body, "outbox_attempts_total{outcome=\"busy\",sink=\"events\"}");
    return text.empty() ? 0.0 : std::stod(text);
  };
  ASSERT_TRUE(eventually(30s, [&] { return tries() >= 2; })) << relay->standard_error();
  EXPECT_FALSE(relay->wait(4s)) << relay->standard_error();
  // 0, 250 ms, 750 ms, 1.75 s, 3.75 s … at the latest; with jitter about twice as many at the most.
  EXPECT_LE(tries(), 12);
  EXPECT_LE(static_cast<double>(lines_of(relay->standard_error()).size()), 6 + tries()) << relay->standard_error();
  EXPECT_EQ(stop(*relay), 0);
}

// B099: a retry time that passed while no relay ran.
TEST_F(DaemonHttp, WhatFellDueWhileNobodyWasThereIsSentAtOnce) {
  std::atomic<bool> failing = true;
  HttpStub stub([&](const StubRequest& request) { return StubReply{failing && request.body == "[]" ? 500 : 200}; });
  configure(http_sink("events", stub), "  - { sink: events }\n", "retry: { base: 20ms, cap: 1h, attempts: 100 }\n");
  send("well");
  const auto a = send("a", "T", "[]");
  const auto b = send("b", "T", "[]");
  auto relay = daemon_.start();
  // Others get through, so these two failed by their own fault, and wait.
  ASSERT_TRUE(eventually(60s, [&] {
    send("well");
    return count("waiting") == "2";
  })) << relay->standard_error();
  relay->kill_and_wait();
  database_->execute("update outbox_delivery set next_attempt_at = now() - interval '3 days' where message_id = '" + a +
                     "'");
  database_->execute("update outbox_delivery set next_attempt_at = now() - interval '1 second' where message_id = '" +
                     b + "'");
  failing = false;
  auto next = daemon_.start();
  EXPECT_TRUE(eventually(30s, [&] { return count("waiting") == "0"; })) << next->standard_error();
  EXPECT_EQ(count("dead"), "0");
  EXPECT_EQ(stop(*next), 0) << next->standard_error();
}

}  // namespace
}  // namespace outbox::test
