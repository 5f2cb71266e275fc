// `outboxd check`, on what is well and on what is not.
#include <filesystem>
#include <nlohmann/json.hpp>

#include "daemon_fixture.h"
#include "support/loopback.h"

namespace outbox::test {
namespace {

using namespace std::chrono_literals;

class Check : public DaemonTest {
 protected:
  void configure_events(const std::string& more = {}) {
    configure(http_sink("events", stub_), "  - { sink: events }\n", more);
  }
  // With a sink of that YAML, a broker's or none's.
  Ran check_sink(const std::string& yaml) {
    configure("  events: { " + yaml + ", from: beginning }\n", "  - { sink: events }\n");
    return daemon_.run({"check"});
  }
  void expect_reached(const std::string& yaml, const std::string& words) {
    const Ran ran = check_sink(yaml);
    EXPECT_EQ(ran.code, 0) << ran.out << ran.err;
    EXPECT_TRUE(has(ran.out, words)) << ran.out;
  }
  void expect_out_of_reach(const std::string& yaml) {
    const Ran away = check_sink(yaml);
    EXPECT_EQ(away.code, 3) << away.out << away.err;
  }
  // The same configuration, by a role that may only connect and see.
  std::string as_stranger(const std::string& more) {
    const std::string role = "stranger_" + database_->name();
    database_->execute("create role " + role + " login; grant select on outbox, outbox_meta, outbox_position to " +
                       role);
    std::string url = database_->url();
    url.replace(url.find("postgres@"), std::string("postgres").size(), role);
    daemon_.configure("database: \"" + url + "\"\nsinks:\n" + http_sink("events", stub_) +
                      "routes:\n  - { sink: events }\n" + more);
    return role;
  }
  static bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

  HttpStub stub_;
};

TEST_F(Check, AllIsWellIsALineEach) {
  configure_events("outbox: { retain: 7d }\ndead_letters: { retain: 30d }\n");
  const Ran ran = daemon_.run({"check"});
  EXPECT_EQ(ran.code, 0) << ran.out << ran.err;
  for (const std::string& line : lines_of(ran.out)) EXPECT_EQ(line.substr(0, 4), "ok  ") << line;
  EXPECT_TRUE(has(ran.out, "several divide the keys among themselves")) << ran.out;
  EXPECT_TRUE(has(ran.out, "connected to http://127.0.0.1:")) << ran.out;
  EXPECT_EQ(stub_.request_count(), 0u) << "a check sends nothing";
}

TEST_F(Check, TablesThatAreMissingAreMadeByInit) {
  configure_events();
  database_->execute("drop table outbox_position, outbox_meta");
  const Ran side = daemon_.run({"check"});
  EXPECT_EQ(side.code, 1) << side.out;
  EXPECT_TRUE(has(side.out, "run `outboxd init`")) << side.out;
  database_->execute("drop table outbox");
  const Ran all = daemon_.run({"check"});
  EXPECT_EQ(all.code, 1) << all.out;
  EXPECT_TRUE(has(all.out, "there is no table outbox")) << all.out;
  EXPECT_TRUE(has(all.out, "connected to http://127.0.0.1:")) << "the sinks are looked at all the same: " << all.out;
}

TEST_F(Check, TablesOfAnOlderVersionAreNamedByEveryCommand) {
  configure_events();
  database_->execute("alter table outbox_delivery drop column long_id cascade");
  for (const std::vector<std::string>& command :
       std::vector<std::vector<std::string>>{{"check"}, {"status"}, {"list"}, {"run", "--once"}}) {
    const Ran ran = daemon_.run(command);
    EXPECT_NE(ran.code, 0) << command[0];
    EXPECT_TRUE(has(ran.out + ran.err, "those of an older version")) << command[0] << ": " << ran.out << ran.err;
  }
}

// The statements that it names are what was missing, all of it, and nothing else.
TEST_F(Check, APrivilegeThatIsMissingStandsWithTheStatementThatGivesIt) {
  const std::string more = "outbox: { retain: 7d }\ndead_letters: { retain: 30d }\n";
  configure_events(more);
  const std::string role = as_stranger(more);
  const Ran before = daemon_.run({"check", "--json"});
  EXPECT_EQ(before.code, 1) << before.out;
  int statements = 0;
  const auto report = nlohmann::json::parse(before.out);
  for (const auto& finding : report["findings"]) {
    if (finding["subject"] != "privileges") continue;
    const std::string what = finding["what"];
    const auto at = what.find(": grant ");
    ASSERT_NE(at, std::string::npos) << what;
    EXPECT_EQ(finding["grade"], has(what, "update (\"xid\")") ? "note" : "wrong") << what;
    database_->execute(what.substr(at + 2));
    ++statements;
  }
  EXPECT_GT(statements, 8) << before.out;
  const Ran after = daemon_.run({"check"});
  EXPECT_EQ(after.code, 0) << after.out << after.err;
  EXPECT_TRUE(has(after.out, "all that a relay needs")) << after.out;
  send("1");
  const Ran relayed = daemon_.run({"run", "--once"});
  EXPECT_EQ(relayed.code, 0) << relayed.err;
  EXPECT_EQ(stub_.request_count(), 1u);
  database_->execute("drop owned by " + role + "; drop role " + role);
}

TEST_F(Check, ATableThatIsMarkedIsServedByOneRelay) {
  database_->execute(
      "create table outbox (id uuid primary key, aggregatetype text, aggregateid text, type text, payload text,"
      " created_at timestamptz, published_at timestamptz)");
  configure_events("outbox: { sent: mark, columns: { order: created_at } }\n");
  const Ran ran = daemon_.run({"check"});
  EXPECT_EQ(ran.code, 0) << ran.out << ran.err;
  EXPECT_TRUE(has(ran.out, "one works, the others stand by")) << ran.out;
  EXPECT_TRUE(has(ran.out, "no index starts with created_at")) << ran.out;
}

TEST_F(Check, WhatDoesNotAnswerIsOutOfReach) {
  const Ran sink = check_sink("type: http, url: \"http://127.0.0.1:" + std::to_string(closed_port()) + "/\"");
  EXPECT_EQ(sink.code, 3) << sink.out;
  EXPECT_TRUE(has(sink.out, "wrong  sink events")) << sink.out;
  EXPECT_TRUE(has(sink.out, "Connection refused")) << sink.out;
  daemon_.configure("database: \"postgresql://nobody@127.0.0.1:" + std::to_string(closed_port()) + "/shop\"\nsinks:\n" +
                    http_sink("events", stub_) + "routes:\n  - { sink: events }\n");
  const Ran database = daemon_.run({"check"});
  EXPECT_EQ(database.code, 3) << database.out;
  EXPECT_TRUE(has(database.out, "wrong  database")) << database.out;
}

// Whoever asks before the first start, and may be another user, leaves no file that a relay could not write.
TEST_F(Check, MakesNoFileBesideASqliteDatabase) {
  const std::string file = daemon_.file("shop.db");
  ASSERT_EQ(daemon_.run({"init", "--database", "sqlite:" + file}).code, 0);
  std::filesystem::remove(file + "-outboxd");
  daemon_.configure("database: \"sqlite:" + file + "\"\nsinks:\n" + http_sink("events", stub_) +
                    "routes:\n  - { sink: events }\n");
  const Ran before = daemon_.run({"check"});
  EXPECT_EQ(before.code, 0) << before.out << before.err;
  EXPECT_FALSE(std::filesystem::exists(file + "-outboxd")) << before.out;
  EXPECT_EQ(daemon_.run({"run", "--once"}).code, 0);
  const Ran after = daemon_.run({"check"});
  EXPECT_EQ(after.code, 0) << after.out << after.err;
  EXPECT_TRUE(has(after.out, "one works, the others stand by")) << after.out;
}

TEST_F(Check, ASinkThatIsNotNamedAnyMoreIsWrong) {
  configure_events();
  EXPECT_EQ(daemon_.run({"run", "--once"}).code, 0);
  configure(http_sink("renamed", stub_), "  - { sink: renamed }\n");
  const Ran drained = daemon_.run({"check"});
  EXPECT_EQ(drained.code, 0) << drained.out;
  EXPECT_TRUE(has(drained.err, "has a position")) << "it will be owed the next message: " << drained.err;
  send("1");
  const Ran ran = daemon_.run({"check"});
  EXPECT_EQ(ran.code, 1) << ran.out;
  EXPECT_TRUE(has(ran.out, "does not name the sink 'events' (any more): its position has not passed 1 row of"))
      << ran.out;
}

TEST_F(Check, ReachesAKafkaCluster) {
  OUTBOX_REQUIRE_SERVICE(brokers, Service::kafka);
  expect_reached("type: kafka, brokers: [ \"" + brokers + "\" ]", "1 broker, reached by " + brokers);
  expect_out_of_reach("type: kafka, brokers: [ \"127.0.0.1:" + std::to_string(closed_port()) + "\" ]");
}

TEST_F(Check, LogsInAtRabbitMq) {
  OUTBOX_REQUIRE_SERVICE(url, Service::rabbitmq);
  expect_reached("type: rabbitmq, url: \"" + url + "\", routing_key: orders", "logged in at 127.0.0.1:");
  std::string wrong = url;
  wrong.replace(wrong.find("guest:guest"), std::string("guest:guest").size(), "guest:not_this_one");
  const Ran refused = check_sink("type: rabbitmq, url: \"" + wrong + "\", routing_key: orders");
  EXPECT_EQ(refused.code, 1) << "waiting mends no password: " << refused.out << refused.err;
  EXPECT_FALSE(has(refused.out + refused.err, "not_this_one")) << refused.out;
}

TEST_F(Check, LogsInAtNats) {
  OUTBOX_REQUIRE_SERVICE(url, Service::nats);
  expect_reached("type: nats, servers: [ \"" + url + "\" ]", "logged in at " + url);
  expect_out_of_reach("type: nats, servers: [ \"nats://127.0.0.1:" + std::to_string(closed_port()) + "\" ]");
}

}  // namespace
}  // namespace outbox::test
