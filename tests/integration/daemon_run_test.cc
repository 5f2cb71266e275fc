// How a relay begins and ends: exit codes, signals, a second relay, and what its pages say of secrets.
#include <set>

#include "integration/daemon_fixture.h"
#include "support/fault_proxy.h"
#include "support/paths.h"

namespace outbox::test {
namespace {

using namespace std::chrono_literals;

std::size_t distinct(const std::vector<std::string>& ids) {
  return std::set<std::string>(ids.begin(), ids.end()).size();
}

class DaemonRun : public DaemonTest {
 protected:
  void configure_events(const std::string& more = {}) {
    configure(http_sink("events", stub_), "  - { sink: events }\n", more);
  }
  HttpStub stub_;
};

TEST_F(DaemonRun, OnceIsZeroWhenAllArrived) {
  configure_events();
  send("1");
  send("2");
  const Ran once = daemon_.run({"run", "--once"});
  EXPECT_EQ(once.code, 0) << once.err;
  EXPECT_EQ(stub_.request_count(), 2u);
  EXPECT_EQ(daemon_.run({"run", "--once"}).code, 0);
  EXPECT_EQ(stub_.request_count(), 2u);
}

TEST_F(DaemonRun, OnceIsOneWhenSomethingIsDead) {
  stub_.set_script([](const StubRequest& request) { return StubReply{request.body == "{}" ? 200 : 422}; });
  configure_events();
  const std::string good = send("1");
  const std::string bad = send("2", "T", "[]");
  const Ran once = daemon_.run({"run", "--once"});
  EXPECT_EQ(once.code, 1) << once.err;
  EXPECT_NE(once.err.find("outboxd: not everything was delivered"), std::string::npos) << once.err;
  EXPECT_EQ(state_of(bad), "dead");
  EXPECT_EQ(state_of(good), "");
}

TEST_F(DaemonRun, OnceAwaitsRetries) {
  int failures = 0;
  stub_.set_script(
      [&](const StubRequest& request) { return StubReply{request.body == "[]" && ++failures <= 2 ? 500 : 200}; });
  configure_events("retry: { base: 20ms, cap: 50ms }\nbreaker: { failures: 5, open: 50ms }\n");
  send("1");
  send("2", "T", "[]");
  const Ran once = daemon_.run({"run", "--once"});
  EXPECT_EQ(once.code, 0) << once.err;
  EXPECT_EQ(stub_.request_count(), 4u) << once.err << daemon_.run({"status"}).out;
}

TEST_F(DaemonRun, OnceDoesNotCountWhatIsNotDueYet) {
  configure_events();
  send("1");
  database_->execute("select outbox_send('order', '2', 'T', '{}', not_before => now() + interval '1 hour')");
  EXPECT_EQ(daemon_.run({"run", "--once"}).code, 0);
  EXPECT_EQ(stub_.request_count(), 1u);
  EXPECT_EQ(count("waiting"), "1");
}

TEST_F(DaemonRun, OnceBesideALivingRelayIsThreeAndNamesIt) {
  configure_events();
  auto relay = daemon_.start();
  const int port = admin_port(*relay);
  ASSERT_TRUE(eventually(30s, [&] { return get(port, "/readyz").status == 200; })) << relay->standard_error();
  ASSERT_TRUE(eventually(30s, [&] { return database_->value("select count(*) from outbox_relay") == "1"; }));
  const Ran once = daemon_.run({"run", "--once"});
  EXPECT_EQ(once.code, 3) << once.err;
  EXPECT_NE(once.err.find(":" + std::to_string(relay->pid()) + ":"), std::string::npos) << once.err;
  send("1");
  EXPECT_TRUE(stub_.wait_for_requests(1)) << relay->standard_error();
  EXPECT_EQ(stop(*relay), 0) << relay->standard_error();
  EXPECT_EQ(daemon_.run({"run", "--once"}).code, 0);  // it has said that it stopped
}

// The address of the relay that lives is no matter of --once, and a second relay says what may have it.
TEST_F(DaemonRun, OnceWantsNoAdminAddress) {
  configure_events();
  auto relay = daemon_.start();
  const std::string address = "127.0.0.1:" + std::to_string(admin_port(*relay));
  ASSERT_TRUE(eventually(30s, [&] { return database_->value("select count(*) from outbox_relay") == "1"; }));
  const Ran once = daemon_.run({"run", "--once", "--admin-listen", address});
  EXPECT_EQ(once.code, 3) << once.err;
  EXPECT_NE(once.err.find(" is at work"), std::string::npos) << once.err;
  const Ran second = daemon_.run({"run", "--admin-listen", address});
  EXPECT_EQ(second.code, 3) << second.err;
  EXPECT_NE(second.err.find("outboxd: admin.listen: cannot listen on " + address), std::string::npos) << second.err;
  EXPECT_NE(second.err.find("perhaps a relay that runs already"), std::string::npos) << second.err;
  EXPECT_EQ(stop(*relay), 0) << relay->standard_error();
}

// A cron job does not hang for a day.
TEST_F(DaemonRun, OnceDoesNotAwaitALongRetryAfter) {
  stub_.set_script([](const StubRequest&) { return StubReply{.status = 429, .headers = {{"Retry-After", "86400"}}}; });
  configure_events("retry: { base: 20ms, cap: 50ms }\n");
  send("1");
  const Ran once = daemon_.run({"run", "--once"});
  EXPECT_EQ(once.code, 1) << once.err;
  EXPECT_NE(once.err.find("outboxd: not everything was delivered: events: "), std::string::npos) << once.err;
  EXPECT_NE(once.err.find("http_429"), std::string::npos) << once.err;
  EXPECT_EQ(stub_.request_count(), 1u);
}

TEST_F(DaemonRun, TwoRelaysShareTheKeysAndOneThatStopsHandsThemOver) {
  configure_events();
  auto first = daemon_.start();
  send("1");
  ASSERT_TRUE(stub_.wait_for_requests(1)) << first->standard_error();
  auto second = daemon_.start();
  const auto owners = [&] { return database_->value("select count(distinct nullif(owner, '')) from outbox_position"); };
  ASSERT_TRUE(eventually(30s, [&] { return owners() == "2"; })) << second->standard_error();
  for (int i = 0; i < 50; ++i) send(std::to_string(i));
  ASSERT_TRUE(eventually(30s, [&] { return ids_of(stub_.requests()).size() == 51; })) << second->standard_error();
  EXPECT_EQ(stop(*first), 0) << first->standard_error();
  ASSERT_TRUE(eventually(30s, [&] { return owners() == "1"; })) << second->standard_error();
  for (int i = 0; i < 50; ++i) send(std::to_string(i));
  ASSERT_TRUE(eventually(30s, [&] { return ids_of(stub_.requests()).size() == 101; })) << second->standard_error();
  EXPECT_EQ(stop(*second), 0) << second->standard_error();
  EXPECT_EQ(stub_.request_count(), 101u);
  EXPECT_EQ(daemon_.run({"run", "--once"}).code, 0);
}

// As B233: what is in flight is awaited; a second SIGTERM changes nothing.
TEST_F(DaemonRun, SigtermDrainsWhatIsInFlight) {
  stub_.set_script([](const StubRequest&) { return StubReply{.delay = 300ms}; });
  configure(http_sink("events", stub_, ", concurrency: 4"), "  - { sink: events }\n");
  for (int i = 0; i < 20; ++i) send(std::to_string(i));
  auto relay = daemon_.start();
  ASSERT_TRUE(stub_.wait_for_requests(1)) << relay->standard_error();
  relay->terminate();
  ASSERT_TRUE(eventually(30s, [&] { return relay->standard_error().find("stopping") != std::string::npos; }));
  relay->terminate();
  const auto ended = relay->wait(30s);
  ASSERT_TRUE(ended);
  EXPECT_TRUE(ended->succeeded()) << relay->standard_error();
  // The next one finds everything settled that was answered, and repeats nothing.
  EXPECT_EQ(daemon_.run({"run", "--once"}).code, 0);
  EXPECT_EQ(distinct(ids_of(stub_.requests())), 20u);
  EXPECT_EQ(stub_.request_count(), 20u);
}

TEST_F(DaemonRun, TheDrainTimeOutEndsTheWait) {
  stub_.set_script([](const StubRequest&) { return StubReply{.delay = 300ms}; });
  configure(http_sink("events", stub_, ", concurrency: 4"), "  - { sink: events }\n", "drain_timeout: 1s\n");
  for (int i = 0; i < 200; ++i) send(std::to_string(i));
  auto relay = daemon_.start();
  ASSERT_TRUE(stub_.wait_for_requests(8)) << relay->standard_error();
  EXPECT_EQ(stop(*relay), 0) << relay->standard_error();
  EXPECT_LT(stub_.request_count(), 200u);
  // Only what was cut off in the middle is sent again.
  stub_.set_script([](const StubRequest&) { return StubReply{}; });
  EXPECT_EQ(daemon_.run({"run", "--once"}).code, 0);
  EXPECT_EQ(distinct(ids_of(stub_.requests())), 200u);
  EXPECT_LE(stub_.request_count(), 204u);
}

// A database that is there and says nothing any more: its connections stand, half-open.
TEST_F(DaemonRun, SigtermDoesNotWaitForADatabaseThatDoesNotAnswer) {
  configure_events();
  FaultProxy link(port_in(database_->url()));
  daemon_.configure("database: \"" + with_port(database_->url(), link.port()) + "\"\nsinks:\n" +
                    http_sink("events", stub_) +
                    "routes:\n  - { sink: events }\nadmin: { listen: \"127.0.0.1:0\" }\ndrain_timeout: 1s\n");
  auto relay = daemon_.start();
  send("1");
  ASSERT_TRUE(stub_.wait_for_requests(1)) << relay->standard_error();
  link.set({.hold = true});
  EXPECT_EQ(stop(*relay), 0) << relay->standard_error();
  EXPECT_NE(relay->standard_error().find("ending without an answer of the database"), std::string::npos)
      << relay->standard_error();
  link.set({});
  EXPECT_EQ(daemon_.run({"run", "--once"}).code, 0);
  EXPECT_LE(stub_.request_count(), 2u);
}

// A year that does not fit into microseconds since 1970.
TEST_F(DaemonRun, WhatIsForTheEndOfTimeWaits) {
  configure_events();
  const auto id =
      database_->query("select outbox_send('order', '1', 'T', '{}', not_before => '294276-12-31 23:59:59+00')")
          .at(0)
          .at(0)
          .value();
  EXPECT_EQ(daemon_.run({"run", "--once"}).code, 0);
  EXPECT_EQ(stub_.request_count(), 0u);
  EXPECT_EQ(state_of(id), "waiting");
  const Ran show = daemon_.run({"show", id});
  EXPECT_EQ(show.code, 0) << show.err;
  EXPECT_EQ(daemon_.run({"list", "--state", "waiting"}).code, 0);
}

// The statements of docs/guide/operations.md, under another role's name.
std::string grants_of_the_guide(const std::string& role) {
  const std::string page = read_file(source_dir() / "docs/guide/operations.md");
  const std::string first = "CREATE ROLE outboxd LOGIN;";
  const auto begin = page.find(first);
  std::string sql = begin == std::string::npos ? "" : page.substr(begin, page.find("```", begin) - begin);
  for (auto at = sql.find("outboxd"); at != std::string::npos; at = sql.find("outboxd", at + role.size())) {
    sql.replace(at, std::string("outboxd").size(), role);
  }
  return sql;
}

TEST_F(DaemonRun, ARoleWithTheGrantsOfTheGuideIsEnough) {
  stub_.set_script([](const StubRequest& request) { return StubReply{request.body == "[]" ? 422 : 200}; });
  const std::string more = "outbox: { retain: 1s }\ndead_letters: { retain: 1s }\n";
  configure_events(more);  // and `init`, by the owner
  const std::string role = "relay_" + database_->name();
  database_->execute(grants_of_the_guide(role));
  std::string url = database_->url();
  const auto user = url.find("postgres@");
  ASSERT_NE(user, std::string::npos) << "the server's superuser is called otherwise";
  url.replace(user, std::string("postgres").size(), role);
  daemon_.configure("database: \"" + url + "\"\nsinks:\n" + http_sink("events", stub_) +
                    "routes:\n  - { sink: events }\nadmin: { listen: \"127.0.0.1:0\" }\n" + more);
  send("1");
  const auto bad = send("2", "T", "[]"), dropped = send("3", "T", "[]");
  auto relay = daemon_.start();
  EXPECT_TRUE(eventually(30s, [&] { return count("dead") == "2"; })) << relay->standard_error();
  EXPECT_EQ(stop(*relay), 0) << relay->standard_error();
  EXPECT_EQ(relay->standard_error().find("permission denied"), std::string::npos) << relay->standard_error();
  database_->execute("update outbox_delivery set changed_at = changed_at - interval '1 minute' where message_id <> '" +
                     bad + "'");
  for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{{"check"},
                                                                                       {"status"},
                                                                                       {"list"},
                                                                                       {"list", "--state", "sent"},
                                                                                       {"show", bad},
                                                                                       {"requeue", bad},
                                                                                       {"pause", "events"},
                                                                                       {"resume", "events"},
                                                                                       {"prune"}}) {
    const Ran ran = daemon_.run(command);
    EXPECT_EQ(ran.code, 0) << command[0] << ": " << ran.err;
  }
  EXPECT_EQ(state_of(dropped), "");
  EXPECT_EQ(daemon_.run({"run", "--once"}).code, 1) << "it is refused again";
  database_->execute("update outbox_meta set value = '0' where name = 'system_identifier'");
  const Ran restored = daemon_.run({"run", "--once"});
  EXPECT_EQ(restored.code, 0) << restored.err;
  EXPECT_NE(restored.err.find("restored into another cluster"), std::string::npos) << restored.err;
  database_->execute("drop owned by " + role + "; drop role " + role);
}

// B223, of the running relay: log at debug, pages, and what stands in the database.
TEST_F(DaemonRun, NoSecretInLogPagesOrTables) {
  stub_.set_script([](const StubRequest&) { return StubReply{401}; });
  std::string url = database_->url();
  url.insert(url.find('@'), ":pw_SECRET9");
  const Daemon::Environment environment{
      {"DB", url}, {"TOKEN", "Bearer tok_ABC"}, {"SIGNING", "whsec_VEVTVFNFQ1JFVDEyMzQ1Njc4OTBhYmNk"}};
  configure(http_sink("events", stub_), "  - { sink: events }\n");
  daemon_.configure("database: \"${DB}\"\nlog: { level: debug }\nadmin: { listen: \"127.0.0.1:0\" }\nsinks:\n" +
                    http_sink("events", stub_,
                              ", headers: { Authorization: \"${TOKEN}\" }, sign: { scheme: standard-webhooks, secret: "
                              "\"${SIGNING}\" }") +
                    "routes:\n  - { sink: events }\n");
  send("1");
  auto relay = daemon_.start({}, environment);
  const int port = admin_port(*relay);
  ASSERT_TRUE(stub_.wait_for_requests(1)) << relay->standard_error();
  EXPECT_EQ(stub_.requests()[0].header("authorization"), "Bearer tok_ABC");
  Page page;
  ASSERT_TRUE(eventually(30s, [&] { return (page = get(port, "/readyz")).body.find("401") != std::string::npos; }))
      << page.body;
  std::string all = page.body + get(port, "/metrics").body + get(port, "/healthz").body;
  const Ran status = daemon_.run({"status"}, environment);
  EXPECT_EQ(status.code, 0) << status.err;
  all += status.out + status.err + daemon_.run({"status", "--json"}, environment).out;
  stop(*relay);
  all += relay->standard_error() + relay->standard_output();
  for (const char* table : {"outbox_delivery", "outbox_position", "outbox_relay", "outbox_meta"}) {
    all += database_->value(std::string("select coalesce(string_agg(t::text, ' '), '') from ") + table + " t");
  }
  for (const char* secret : {"SECRET9", "tok_ABC", "VEVTVFNFQ1", "TESTSECRET"}) {
    EXPECT_EQ(all.find(secret), std::string::npos) << secret << " in " << all;
  }
}

}  // namespace
}  // namespace outbox::test
