#include "config/load.h"

#include <gtest/gtest.h>

namespace outbox::config {
namespace {

using enum OptionType;

constexpr Option kBroker[] = {
    {.name = "brokers", .type = text_list, .fallback = "[ localhost:9092 ]", .help = "where", .required = true},
    {.name = "linger", .type = duration, .fallback = "5ms", .help = "how long", .min = 0, .max = 1'000'000},
    {.name = "tls.enabled", .type = boolean, .fallback = "false", .help = "tls"},
    {.name = "tls.key", .type = secret, .fallback = "", .help = "key"},
    {.name = "batch", .type = size, .fallback = "1MB", .help = "batch", .max = 16 << 20},
    {.name = "options", .type = text_map, .fallback = "", .help = "more"},
};
constexpr Option kPlain[] = {{.name = "path", .type = text, .fallback = "", .help = "where", .required = true}};

std::string broker_address(const Values&) { return "outbox.event.{aggregate_type}"; }
std::string plain_address(const Values& options) { return options.text("path"); }

const std::vector<SinkKind> kKinds{
    {"broker", "a broker", kBroker, "topic", broker_address, {}},
    {"plain", "a file", kPlain, "", plain_address, {}},
};

Environment variables(std::map<std::string, std::string> values) {
  return [values = std::move(values)](const std::string& name) -> std::optional<std::string> {
    const auto found = values.find(name);
    return found == values.end() ? std::nullopt : std::optional(found->second);
  };
}

LoadResult load(const std::string& text, std::map<std::string, std::string> environment = {}, Overrides flags = {}) {
  return load_text("f", text, {variables(std::move(environment)), std::move(flags), kKinds});
}

std::string errors(const std::string& text, std::map<std::string, std::string> environment = {}) {
  const auto result = load(text, std::move(environment));
  std::string all;
  if (const auto* problems = std::get_if<std::vector<Problem>>(&result)) {
    for (const Problem& problem : *problems) all += problem.text() + "\n";
  }
  return all;
}

Settings settings(const std::string& text, std::map<std::string, std::string> environment = {}, Overrides flags = {}) {
  auto result = load(text, std::move(environment), std::move(flags));
  if (const auto* problems = std::get_if<std::vector<Problem>>(&result)) {
    for (const Problem& problem : *problems) ADD_FAILURE() << problem.text();
    return {};
  }
  return std::get<Loaded>(std::move(result)).settings;
}

const std::string kHead = "database: sqlite:shop.db\n";
const std::string kSinks = "sinks:\n  events: { type: broker, brokers: [ a:1, b:2 ] }\n";
const std::string kRoutes = "routes:\n  - { sink: events }\n";
const std::string kSmall = kHead + kSinks + kRoutes;

TEST(Load, ASmallFileHasDefaults) {
  const Settings s = settings(kSmall);
  EXPECT_EQ(s.database, "sqlite:shop.db");
  EXPECT_EQ(s.outbox.table, "outbox");
  EXPECT_FALSE(s.outbox.sent_given);
  EXPECT_FALSE(s.retain.has_value());
  EXPECT_EQ(s.retain_dead, std::chrono::hours(720));
  EXPECT_EQ(s.replays_max, 10);
  ASSERT_EQ(s.sinks.size(), 1u);
  EXPECT_EQ(s.sinks[0].options.list("brokers"), (std::vector<std::string>{"a:1", "b:2"}));
  EXPECT_EQ(s.sinks[0].options.duration("linger"), 5ms);
  EXPECT_FALSE(s.sinks[0].options.flag("tls.enabled"));
  EXPECT_FALSE(s.sinks[0].options.has("tls.key"));
  EXPECT_EQ(s.sinks[0].options.size("batch"), 1 << 20);
  EXPECT_EQ(s.sinks[0].retry.attempts, 8);
  EXPECT_EQ(s.sinks[0].retry.age, std::nullopt);
  EXPECT_EQ(s.sinks[0].retry.budget_percent, 10);
  EXPECT_EQ(s.sinks[0].retry.budget_per_second, 10);
  EXPECT_FALSE(s.sinks[0].from_beginning);
  ASSERT_EQ(s.routes.size(), 1u);
  EXPECT_EQ(s.routes[0].address, "outbox.event.{aggregate_type}");
  EXPECT_EQ(s.admin.listen, "");
  EXPECT_EQ(s.drain_timeout, 10s);
}

TEST(Load, EverySettingArrives) {
  const Settings s = settings(R"(
database: postgresql://shop:${PW}@localhost/shop
drain_timeout: 30s
outbox:
  table: shop.outbox
  capture: poll
  columns: { id: event_id, headers: ~ }
  constants: { aggregate_type: order }
  sent: delete
  retain: 7d
retry: { base: 2s, cap: 1m, attempts: 3, age: 2h, budget: { percent: 20, per_second: 5 } }
breaker: { failures: 2, open: 1s, cap: 10s }
dead_letters: { key: hold, retain: 10d, replays: 3 }
admin: { listen: "127.0.0.1:9480" }
log: { level: debug, format: json }
sinks:
  events: { type: broker, brokers: a:1, from: beginning, parked_max: 5, retry: { attempts: 1, budget: { per_second: 50 } }, breaker: { open: 2s },
            tls: { enabled: true, key: "${PW}" }, options: { "x.y": "1" } }
  audit: { type: plain, path: "audit-{type}.jsonl" }
routes:
  - { sink: events, aggregate_type: order, type: Paid, owner: billing, topic: "t.{id}", dead_letters: { key: continue } }
  - { sink: audit, retry: { age: 3h, attempts: 9 } }
  - { sink: none, aggregate_type: test }
)",
                              {{"PW", "s3cret"}});
  EXPECT_EQ(s.database, "postgresql://shop:s3cret@localhost/shop");
  EXPECT_EQ(s.outbox.columns.at("id"), "event_id");
  EXPECT_EQ(s.outbox.columns.at("headers"), "");
  EXPECT_EQ(s.outbox.constants.at("aggregate_type"), "order");
  EXPECT_TRUE(s.outbox.sent_given);
  EXPECT_EQ(s.outbox.sent, SentMode::remove);
  EXPECT_EQ(s.retain, std::chrono::hours(168));
  EXPECT_EQ(s.retain_dead, std::chrono::hours(240));
  EXPECT_EQ(s.replays_max, 3);
  EXPECT_EQ(s.drain_timeout, 30s);
  EXPECT_EQ(s.log.level, log::Level::debug);
  EXPECT_EQ(s.log.format, log::Format::json);
  EXPECT_EQ(s.admin.listen, "127.0.0.1:9480");
  const SinkSettings& events = s.sinks[0];
  EXPECT_EQ(events.retry.attempts, 1);
  EXPECT_EQ(events.retry.base, 2s);
  EXPECT_EQ(events.retry.age, std::chrono::hours(2));
  EXPECT_EQ(events.retry.budget_percent, 20);
  EXPECT_EQ(events.retry.budget_per_second, 50);
  EXPECT_EQ(events.breaker.open, 2s);
  EXPECT_EQ(events.breaker.failures, 2);
  EXPECT_TRUE(events.from_beginning);
  EXPECT_EQ(events.parked_max, 5);
  EXPECT_EQ(events.options.text("tls.key"), "s3cret");
  EXPECT_EQ(events.options.map("options").at("x.y"), "1");
  EXPECT_EQ(s.routes[0].address, "t.{id}");
  EXPECT_EQ(s.routes[0].owner, "billing");
  EXPECT_FALSE(s.routes[0].dead_letter_holds_key);
  EXPECT_EQ(s.routes[1].address, "audit-{type}.jsonl");
  EXPECT_EQ(s.routes[1].retry->attempts, 9);
  EXPECT_EQ(s.routes[1].retry->base, 2s);
  EXPECT_EQ(s.routes[1].retry->age, std::chrono::hours(3));
  EXPECT_TRUE(s.routes[1].dead_letter_holds_key);
  EXPECT_EQ(s.routes[2].sink, "none");
  EXPECT_EQ(s.routes[2].address, "");
}

TEST(Load, AllErrorsAtOnceInTheOrderOfTheFile) {
  EXPECT_EQ(errors("database: sqlite:shop.db\n"
                   "drain_timeout: 10\n"
                   "outbxo: {}\n"
                   "retry: { base: 0s, cap: 30s, attempts: none }\n"
                   "sinks:\n"
                   "  events: { type: broker, brokers: [ a:1 ], lingre: 5ms, tls: { enabled: yes } }\n"
                   "  other: { type: brokr }\n"
                   "routes:\n"
                   "  - { sink: event, topic: x }\n"),
            "f:2: drain_timeout: '10' has no unit; write it with one of us, ms, s, m, h, d, like 10s\n"
            "f:3: outbxo: unknown key; did you mean 'outbox'?\n"
            "f:4: retry.base: '0s' is too small; 1ms is the least\n"
            "f:4: retry.attempts: 'none' is not a whole number\n"
            "f:6: sinks.events.lingre: unknown key; did you mean 'linger'?\n"
            "f:6: sinks.events.tls.enabled: 'yes' is neither true nor false; write one of them\n"
            "f:7: sinks.other.type: names no kind of sink; one of broker, plain is expected; did you mean 'broker'?\n"
            "f:9: routes[0].sink: 'event' is not a sink of this file; did you mean 'events'?\n");
}

// B213, through the file: the complaint names key and value.
TEST(Load, UnitsAreDemanded) {
  for (const std::string value : {"10", "0", "-1", "10 s", "''", "[1s]", "{a: 1s}"}) {
    const std::string text = errors(kSmall + "drain_timeout: " + value + "\n");
    EXPECT_EQ(text.find("f:6: drain_timeout: "), 0u) << value << " gave " << text;
  }
  EXPECT_EQ(errors(kSmall + "drain_timeout:\n"), "f:6: drain_timeout: has no value; give it one or remove the key\n");
  EXPECT_EQ(settings(kSmall + "drain_timeout: 1.5s\n").drain_timeout, 1500ms);
}

// B215: what is missing is named with an example, what is unknown with its neighbour.
TEST(Load, MissingKeysAreNamedWithAnExample) {
  EXPECT_EQ(errors("sinks:\n  events: { type: broker }\nroutes:\n  - { topic: x }\n"),
            "f:1: database: is missing (URL of the database that holds the outbox: postgresql://… or sqlite:FILE); "
            "write database: postgresql://user:${DB_PASSWORD}@localhost/shop\n"
            "f:2: sinks.events.brokers: is missing (where); write brokers: [ localhost:9092 ]\n"
            "f:4: routes[0].sink: is missing (the sink's name, or none: such messages are sent nowhere); "
            "write sink: events\n");
  EXPECT_NE(errors("database: sqlite:x\n").find("sinks: is missing"), std::string::npos);
  EXPECT_NE(errors("database: sqlite:x\n").find("routes: is missing"), std::string::npos);
  EXPECT_EQ(errors("just text"), "f:1: is a single value; a map of options is expected\n");
}

TEST(Load, WhatThisVersionDoesNotHaveIsSaid) {
  const std::string text = errors(kSmall + "outbox: { capture: wal }\nconsumers: {}\nreceiver: {}\n");
  EXPECT_EQ(text,
            "f:6: outbox.capture: wal is not in this version; write poll\n"
            "f:7: consumers: not in this version; remove the section\n"
            "f:8: receiver: not in this version; remove the section\n");
  EXPECT_NE(errors("database: mariadb://x/y\n" + kSinks + kRoutes).find("not in this version"), std::string::npos);
}

TEST(Load, CrossChecks) {
  EXPECT_EQ(errors(kSmall + "retry: { base: 10s, cap: 1s }\n"),
            "f:6: retry: cap (1s) is below base (10s); raise cap or lower base\n");
  EXPECT_EQ(errors(kSmall + "breaker: { open: 10s, cap: 1s }\n"),
            "f:6: breaker: cap (1s) is below open (10s); raise cap or lower open\n");
  EXPECT_NE(errors(kSmall + "retry: { attempts: 0 }\n").find("retry.attempts: '0' is too small"), std::string::npos);
  EXPECT_NE(errors(kSmall + "admin: { listen: \"0.0.0.0:9480\" }\n").find("reachable from outside"), std::string::npos);
  EXPECT_NE(errors(kSmall + "admin: { listen: 9480 }\n").find("not host:port"), std::string::npos);
  EXPECT_NE(errors(kSmall + "outbox: { columns: { aggregatetype: x } }\n").find("did you mean 'aggregate_type'"),
            std::string::npos);
  EXPECT_NE(errors(kHead + kSinks + "routes: [ { sink: events, topic: \"t.{agregate}\" } ]\n")
                .find("routes[0].topic: '{agregate}' is not a field of a message"),
            std::string::npos);
  EXPECT_NE(errors(kHead + "sinks: { none: { type: plain, path: x } }\nroutes: [ { sink: none } ]\n")
                .find("give the sink another name"),
            std::string::npos);
}

TEST(Load, OnSqliteNothingIsWrittenPerMessage) {
  EXPECT_NE(errors(kSmall + "outbox: { sent: mark }\n").find("f:6: outbox.sent: mark is not for SQLite"),
            std::string::npos);
  EXPECT_EQ(errors(kSmall + "outbox: { sent: keep }\n"), "");
}

TEST(Load, AnAddressOfAnotherKindOfSinkIsUnknown) {
  EXPECT_NE(errors(kHead + "sinks: { a: { type: plain, path: x } }\nroutes: [ { sink: a, topic: y } ]\n")
                .find("routes[0].topic: unknown key"),
            std::string::npos);
}

TEST(Load, WarnsOfWhatCanNeverHappen) {
  const auto result = load(kHead +
                           "sinks: { a: { type: plain, path: x }, b: { type: plain, path: y } }\n"
                           "routes:\n  - { sink: a }\n  - { sink: a, type: T }\n");
  const auto& warnings = std::get<Loaded>(result).warnings;
  ASSERT_EQ(warnings.size(), 2u);
  EXPECT_EQ(warnings[0].text(), "f:5: warning: routes[1]: never matches: routes[0] takes the same messages to a first");
  EXPECT_EQ(warnings[1].text(), "f: warning: sinks.b: no route names this sink: it gets nothing");
}

TEST(Load, ASinkTypesOwnCheckIsPartOfIt) {
  auto kinds = kKinds;
  kinds[1].check = [](std::string_view, const Values&) -> Result<void> {
    return Failure{FailureKind::invalid, "path is a folder"};
  };
  const auto result = load_text("f", kHead + "sinks: { a: { type: plain, path: x } }\nroutes: [ { sink: a } ]\n",
                                {variables({}), {}, kinds});
  EXPECT_EQ(std::get<std::vector<Problem>>(result).at(0).text(), "f:2: sinks.a: path is a folder");
}

TEST(Load, ASinkTypesProblemsHaveTheLinesOfTheirKeys) {
  auto kinds = kKinds;
  kinds[1].check_options = [](const Values&) {
    return std::vector<OptionProblem>{{"path", "is a folder"}, {"path.a.b", "no"}, {"other", "is not there"}};
  };
  const auto result = load_text("f", kHead + "sinks:\n  a:\n    type: plain\n    path: x\nroutes: [ { sink: a } ]\n",
                                {variables({}), {}, kinds});
  const auto& problems = std::get<std::vector<Problem>>(result);
  ASSERT_EQ(problems.size(), 3u);
  EXPECT_EQ(problems[0].text(), "f:3: sinks.a.other: is not there");
  EXPECT_EQ(problems[1].text(), "f:5: sinks.a.path: is a folder");
  EXPECT_EQ(problems[2].text(), "f:5: sinks.a.path.a.b: no");
}

TEST(Load, FlagBeforeEnvironmentBeforeFile) {
  const std::string text = kSmall + "log: { level: warn }\n";
  EXPECT_EQ(settings(text).log.level, log::Level::warn);
  EXPECT_EQ(settings(text, {{"OUTBOX_LOG_LEVEL", "error"}}).log.level, log::Level::error);
  EXPECT_EQ(settings(text, {{"OUTBOX_LOG_LEVEL", "error"}}, {{"log.level", "debug"}}).log.level, log::Level::debug);
  EXPECT_EQ(settings(text, {{"OUTBOX_DATABASE", "sqlite:${x}.db"}}).database, "sqlite:${x}.db");
  EXPECT_EQ(settings(text, {}, {{"admin.listen", "localhost:0"}}).admin.listen, "localhost:0");
}

// B223: neither a secret's value nor what came from the environment shows in a complaint.
TEST(Load, NoComplaintShowsASecret) {
  const std::map<std::string, std::string> environment{{"PW", "whsec_TESTSECRET123"}};
  const std::string all = errors(
      "database: \"mysql://u:whsec_TESTSECRET123@h/d\"\ndrain_timeout: ${PW}\nretry: { attempts: \"${PW}\" }\n"
      "log: { level: \"${PW}\" }\nadmin: { listen: \"${PW}\" }\n"
      "sinks: { a: { type: broker, brokers: x, tls: { key: [ whsec_TESTSECRET123 ], enabled: \"${PW}\" } } }\n"
      "routes: [ { sink: \"${PW}\", topic: \"{${PW}}\" } ]\n",
      environment);
  EXPECT_NE(all, "");
  EXPECT_EQ(all.find("TESTSECRET"), std::string::npos) << all;
}

TEST(Load, DeadLettersAreForwardedToASinkOfTheFile) {
  const std::string sinks = kSinks + "  dead: { type: broker, brokers: c:3 }\n";
  EXPECT_FALSE(settings(kSmall).forward);
  const auto plain = settings(kHead + sinks + kRoutes + "dead_letters: { forward: { sink: dead } }\n").forward;
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->sink, "dead");
  EXPECT_EQ(plain->address, "outbox.event.{aggregate_type}");
  const auto topic =
      settings(kSmall + "dead_letters: { key: hold, forward: { sink: events, topic: \"dead.{type}\" } }\n").forward;
  ASSERT_TRUE(topic);
  EXPECT_EQ(topic->address, "dead.{type}");

  EXPECT_EQ(errors(kHead + sinks + kRoutes + "dead_letters: { forward: { sink: deat } }\n"),
            "f:7: dead_letters.forward.sink: 'deat' is not a sink of this file; did you mean 'dead'?\n");
  EXPECT_NE(errors(kSmall + "dead_letters: { forward: { topic: x } }\n").find("dead_letters.forward.sink"),
            std::string::npos);
  EXPECT_NE(errors(kSmall + "dead_letters: { forward: { sink: events, topic: \"{tpye}\" } }\n")
                .find("dead_letters.forward.topic"),
            std::string::npos);
  EXPECT_NE(errors(kHead + kSinks + "routes:\n  - { sink: none }\ndead_letters: { forward: { sink: events } }\n")
                .find("nothing could become a dead letter"),
            std::string::npos);
}

}  // namespace
}  // namespace outbox::config
