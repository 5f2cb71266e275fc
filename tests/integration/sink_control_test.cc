// Sinks paused, resumed, removed from the configuration and forgotten.
#include <nlohmann/json.hpp>

#include "integration/daemon_fixture.h"

namespace outbox::test {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;

class SinkControl : public DaemonTest {};

TEST_F(SinkControl, APausedSinkKeepsItsPlaceAndTheOthersGoOn) {
  HttpStub events, audit;
  configure(http_sink("events", events) + http_sink("audit", audit), "  - { sink: events }\n  - { sink: audit }\n");
  auto relay = daemon_.start();
  const int port = admin_port(*relay);
  send("1");
  ASSERT_TRUE(events.wait_for_requests(1)) << relay->standard_error();

  const Ran paused = daemon_.run({"pause", "events", "--reason", "their maintenance", "--actor", "ana"});
  ASSERT_EQ(paused.code, 0) << paused.err;
  const auto says_why = [&] { return get(port, "/readyz").body.find("paused by ana since ") != std::string::npos; };
  ASSERT_TRUE(eventually(30s, says_why)) << get(port, "/readyz").body;
  EXPECT_NE(get(port, "/readyz").body.find("their maintenance"), std::string::npos);
  for (int i = 0; i < 20; ++i) send("2");
  ASSERT_TRUE(audit.wait_for_requests(21)) << relay->standard_error();
  EXPECT_EQ(events.request_count(), 1u);
  const auto status = json::parse(daemon_.run({"status", "--json"}).out);
  for (const auto& sink : status["sinks"]) {
    if (sink["name"] != "events") continue;
    EXPECT_EQ(sink["paused"]["by"], "ana");
    EXPECT_EQ(sink["paused"]["reason"], "their maintenance");
  }
  EXPECT_NE(daemon_.run({"status"}).out.find("paused by ana"), std::string::npos);
  EXPECT_TRUE(
      eventually(30s, [&] { return sample(get(port, "/metrics").body, "outbox_paused{sink=\"events\"}") == "1"; }));
  EXPECT_EQ(attempts_used(), "0");

  // A relay that starts while it is paused leaves it alone, too.
  EXPECT_EQ(stop(*relay), 0) << relay->standard_error();
  auto next = daemon_.start();
  const int next_port = admin_port(*next);
  ASSERT_TRUE(eventually(30s, [&] {
    return get(next_port, "/readyz").body.find("paused by ana since ") != std::string::npos;
  })) << get(next_port, "/readyz").body;
  EXPECT_EQ(events.request_count(), 1u);

  EXPECT_EQ(daemon_.run({"resume", "events"}).code, 0);
  ASSERT_TRUE(events.wait_for_requests(21)) << next->standard_error();
  EXPECT_TRUE(eventually(30s, [&] { return get(next_port, "/readyz").status == 200; }))
      << get(next_port, "/readyz").body;
  EXPECT_EQ(events.request_count(), 21u);
  EXPECT_EQ(daemon_.run({"pause", "event"}).code, 2);
  EXPECT_EQ(stop(*next), 0) << next->standard_error();
}

TEST_F(SinkControl, ASinkThatWasRemovedWithDeliveriesWaitingIsAnErrorUntilItIsForgotten) {
  HttpStub old;
  HttpStub current;
  configure(http_sink("old", old), "  - { sink: old }\n");
  {
    auto relay = daemon_.start();
    database_->execute("select outbox_send('order', 'a', 'T', '{}', not_before => now() + interval '1 hour')");
    ASSERT_TRUE(eventually(60s, [&] { return count("waiting") == "1"; })) << relay->standard_error();
    const Ran configured = daemon_.run({"sink", "forget", "old", "--yes"});
    EXPECT_EQ(configured.code, 2);
    EXPECT_NE(configured.err.find("take it out first"), std::string::npos) << configured.err;
    configure(http_sink("current", current), "  - { sink: current }\n");
    const Ran working = daemon_.run({"sink", "forget", "old", "--yes"});
    EXPECT_EQ(working.code, 3);
    EXPECT_NE(working.err.find("works for 'old' still"), std::string::npos) << working.err;
    EXPECT_EQ(stop(*relay), 0) << relay->standard_error();
  }
  for (const std::vector<std::string>& start : {std::vector<std::string>{"run", "--once"}, {"run"}}) {
    const Ran refused = daemon_.run(start);
    EXPECT_EQ(refused.code, 2);
    EXPECT_NE(refused.err.find("outboxd sink forget old"), std::string::npos) << refused.err;
  }
  const Ran asked = daemon_.run({"sink", "forget", "old"});
  EXPECT_EQ(asked.code, 1);
  EXPECT_NE(asked.out.find("1 waiting, 0 dead"), std::string::npos) << asked.out;
  EXPECT_EQ(count("waiting"), "1");
  const Ran forgotten = daemon_.run({"sink", "forget", "old", "--yes", "--actor", "ana", "--reason", "they left"});
  EXPECT_EQ(forgotten.code, 0) << forgotten.err;
  EXPECT_EQ(count("waiting"), "0");
  EXPECT_EQ(database_->value("select count(*) from outbox_position where sink = 'old'"), "0");
  EXPECT_EQ(database_->value("select actor || '|' || reason || '|' || detail from outbox_audit where action ="
                             " 'forgotten' order by audit_id desc limit 1"),
            "ana|they left|1 waiting, 0 dead, and its position");
  EXPECT_EQ(daemon_.run({"sink", "forget", "old"}).code, 1) << "nobody knows it any more";
  const Ran once = daemon_.run_once();
  EXPECT_EQ(once.code, 0) << once.err;
}

// The new name starts by its own setting: what the old one had not sent would go nowhere.
TEST_F(SinkControl, ARenamedSinkIsAnErrorWhileRowsAreUnsentUnderTheOldName) {
  HttpStub before, after;
  configure(http_sink("before", before), "  - { sink: before }\n");
  send("1");
  ASSERT_EQ(daemon_.run_once().code, 0);
  for (int i = 0; i < 3; ++i) send("2");
  configure("  after: { type: http, url: \"" + after.url("/") + "\" }\n", "  - { sink: after }\n");
  for (const std::vector<std::string>& start : {std::vector<std::string>{"run", "--once"}, {"run"}}) {
    const Ran refused = daemon_.run(start);
    EXPECT_EQ(refused.code, 2);
    for (const char* said : {"'before'", "not passed 3 rows", "outboxd sink forget before"}) {
      EXPECT_NE(refused.err.find(said), std::string::npos) << refused.err;
    }
  }
  EXPECT_EQ(database_->value("select count(*) from outbox_position where sink = 'after'"), "0") << "it has not begun";

  // Named again, it gets them.
  configure(http_sink("before", before) + http_sink("after", after), "  - { sink: before }\n  - { sink: after }\n");
  ASSERT_EQ(daemon_.run_once().code, 0);
  EXPECT_EQ(before.request_count(), 4u);
  send("3");
  configure(http_sink("after", after), "  - { sink: after }\n");
  const Ran asked = daemon_.run({"sink", "forget", "before"});
  EXPECT_EQ(asked.code, 1);
  EXPECT_NE(asked.out.find("0 waiting, 0 dead, 0 finished deliveries, its position (1 row not passed)"),
            std::string::npos)
      << asked.out;
  const Ran forgotten = daemon_.run({"sink", "forget", "before", "--yes"});
  EXPECT_EQ(forgotten.code, 0) << forgotten.err;
  EXPECT_NE(forgotten.out.find("(1 row not passed)"), std::string::npos) << forgotten.out;
  EXPECT_EQ(database_->value("select detail from outbox_audit where action = 'forgotten'"),
            "0 waiting, 0 dead, and its position (1 row not passed)");
  EXPECT_EQ(daemon_.run_once().code, 0);
  EXPECT_EQ(after.request_count(), 5u);
}

// Where rows are marked the mark says what is unsent, whatever the sinks are called.
TEST_F(SinkControl, ARenamedSinkOfAMarkedTableGetsWhatIsUnsent) {
  HttpStub partner;
  const std::string table =
      "outbox:\n  table: events_out\n  columns: { aggregate_type: aggregate_type, aggregate_id: aggregate_id,"
      " order: created_at }\n  sent: mark\n";
  database_->execute(
      "create table events_out (id uuid primary key default gen_random_uuid(), aggregate_type text, aggregate_id"
      " text, type text, payload json, created_at timestamptz default clock_timestamp(), published_at timestamptz)");
  const auto insert = [&] {
    database_->execute(
        "insert into events_out (aggregate_type, aggregate_id, type, payload) values ('o', '1', 'T', '1')");
  };
  insert();
  configure(http_sink("before", partner), "  - { sink: before }\n", table);
  ASSERT_EQ(daemon_.run_once().code, 0);
  insert();
  configure(http_sink("after", partner), "  - { sink: after }\n", table);
  const Ran once = daemon_.run_once();
  EXPECT_EQ(once.code, 0) << once.err;
  EXPECT_EQ(partner.request_count(), 2u);
}

TEST_F(SinkControl, ASinkThatBeginsNowSaysWhatItPassesOver) {
  HttpStub stub;
  configure("  events: { type: http, url: \"" + stub.url("/") + "\" }\n", "  - { sink: events }\n");
  const auto before = send("1");
  send("2");
  const Ran first = daemon_.run_once();
  EXPECT_EQ(first.code, 0) << first.err;
  EXPECT_NE(first.err.find("sink=events passed_over=2 "), std::string::npos) << first.err;
  EXPECT_NE(daemon_.run({"show", before}).out.find("skipped: never sent"), std::string::npos);
  const auto after = send("3");
  const Ran second = daemon_.run_once();
  EXPECT_EQ(second.code, 0) << second.err;
  EXPECT_EQ(second.err.find("passed_over"), std::string::npos) << second.err;
  EXPECT_EQ(ids_of(stub.requests()), std::vector<std::string>{after});
  const auto sent = json::parse(daemon_.run({"list", "--state", "sent", "--json"}).out)["deliveries"];
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0]["id"], after);
}

}  // namespace
}  // namespace outbox::test
