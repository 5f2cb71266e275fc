// The real binary: exit codes, messages, and that no secret comes out of it anywhere.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "support/child_process.h"
#include "support/eventually.h"
#include "support/paths.h"
#include "support/sqlite_restore.h"
#include "support/temp_dir.h"

namespace outbox::test {
namespace {

using namespace std::chrono_literals;
using Environment = std::vector<std::pair<std::string, std::string>>;

constexpr auto kPatience = 60s;

struct Ran {
  int code = -1;
  std::string out;
  std::string err;
  std::string all() const { return out + err; }
};

class Cli : public testing::Test {
 protected:
  ProcessOptions options(Environment environment = {}, std::string input = {}) const {
    ProcessOptions made;
    made.environment = std::move(environment);
    made.directory = folder_.path().string();
    made.input = std::move(input);
    return made;
  }

  Ran run(std::vector<std::string> arguments, Environment environment = {}, std::string input = {}) const {
    arguments.insert(arguments.begin(), daemon_path().string());
    ChildProcess process(arguments, options(std::move(environment), std::move(input)));
    const auto status = process.wait(kPatience);
    EXPECT_TRUE(status.has_value()) << "it still runs";
    return {status ? status->code : -1, process.standard_output(), process.standard_error()};
  }

  void configure(const std::string& text) { write_file(folder_.path() / "outboxd.yaml", text); }

  TempDir folder_;
};

const std::string kGood =
    "database: sqlite:shop.db\n"
    "sinks:\n"
    "  audit: { type: file, path: audit.jsonl, from: beginning }\n"
    "routes:\n"
    "  - { sink: audit }\n";

std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> all;
  std::size_t begin = 0;
  for (auto end = text.find('\n'); end != std::string::npos; end = text.find('\n', begin)) {
    all.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return all;
}

TEST_F(Cli, HelpOfEveryCommandHasAnExample) {
  const Ran help = run({"--help"});
  EXPECT_EQ(help.code, 0);
  for (const std::string command : {"init", "run", "demo", "send", "status", "list", "show", "requeue", "discard",
                                    "pause", "resume", "sink", "prune", "config", "version"}) {
    EXPECT_NE(help.out.find("\n  " + command + " "), std::string::npos) << command;
    const Ran own = run({command, "--help"});
    EXPECT_EQ(own.code, 0) << command;
    EXPECT_NE(own.out.find("Example:\n  outboxd " + command), std::string::npos) << own.out;
  }
}

TEST_F(Cli, UsageErrorsAreOneLineAndExitTwo) {
  const std::vector<std::vector<std::string>> wrong{{},
                                                    {"rnu"},
                                                    {"send"},
                                                    {"run", "--nonsense"},
                                                    {"init", "--payload", "xml"},
                                                    {"demo", "--for", "10"},
                                                    {"status"},
                                                    {"init"},
                                                    {"config"},
                                                    {"init", "--database", "oracle:x"},
                                                    {"init", "--database", "mariadb://localhost/x"},
                                                    {"init", "--database", "sqlite:x.db", "--capture", "wal"}};
  for (const auto& arguments : wrong) {
    const Ran ran = run(arguments);
    EXPECT_EQ(ran.code, 2) << testing::PrintToString(arguments);
    EXPECT_EQ(ran.out, "");
    EXPECT_EQ(lines(ran.err).size(), 1u) << ran.err;
  }
  EXPECT_NE(run({"rnu"}).err.find("did you mean 'run'"), std::string::npos);
}

TEST_F(Cli, AnUnreachableDatabaseIsThree) {
  const std::string url = "postgresql://shop:pw_SECRET9@127.0.0.1:1/shop";
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{"init", "--database", url},
                                             {"send", "--database", url, "--aggregate-type", "a", "--aggregate-id", "1",
                                              "--type", "T", "--payload", "{}"},
                                             {"send", "--database", "sqlite:nowhere/shop.db", "--aggregate-type", "a",
                                              "--aggregate-id", "1", "--type", "T", "--payload", "{}"}}) {
    const Ran ran = run(arguments);
    EXPECT_EQ(ran.code, 3) << ran.err;
    EXPECT_EQ(lines(ran.err).size(), 1u) << ran.err;
    EXPECT_EQ(ran.all().find("SECRET9"), std::string::npos) << ran.all();
  }
}

// libpq would take what stands between the two '@' for the host, and name it in its errors.
TEST_F(Cli, ARawAtInAPasswordIsTwoAndStaysUnseen) {
  const std::string url = "postgresql://shop:pw@SECRET9@127.0.0.1:1/shop";
  configure("database: " + url + "\nsinks: { out: { type: stdout } }\nroutes: [ { sink: out } ]\n");
  const std::vector<std::string> message{"--aggregate-type", "a", "--aggregate-id", "1",
                                         "--type",           "T", "--payload",      "{}"};
  std::vector<std::string> send{"send", "--database", url};
  send.insert(send.end(), message.begin(), message.end());
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
           {"config", "lint"}, {"run", "--once"}, {"status"}, {"prune"}, {"init", "--database", url}, send}) {
    const Ran ran = run(arguments);
    EXPECT_EQ(ran.code, 2) << arguments[0] << ran.err;
    EXPECT_EQ(lines(ran.err).size(), 1u) << ran.err;
    EXPECT_NE(ran.err.find("%40 for '@'"), std::string::npos) << ran.err;
    EXPECT_EQ(ran.all().find("SECRET9"), std::string::npos) << ran.all();
  }
}

TEST_F(Cli, LintSaysEverythingAtOnce) {
  configure(
      "database: sqlite:shop.db\n"
      "drain_timeout: 10\n"
      "sinsk: {}\n"
      "sinks:\n"
      "  audit: { type: file, pth: audit.jsonl }\n"
      "  events: { type: kafka, brokers: [ a:1 ] }\n"
      "  web: { type: htpp }\n"
      "routes:\n"
      "  - { sink: events, topic: \"t.{agregate_type}\" }\n"
      "  - { sink: evens }\n");
  const Ran ran = run({"config", "lint"});
  EXPECT_EQ(ran.code, 2);
  const std::vector<std::string> expected{
      "outboxd.yaml:2: drain_timeout: '10' has no unit",
      "outboxd.yaml:3: sinsk: unknown key; did you mean 'sinks'?",
      "outboxd.yaml:5: sinks.audit.pth: unknown key; did you mean 'path'?",
      "outboxd.yaml:5: sinks.audit.path: is missing",
      "outboxd.yaml:7: sinks.web.type: names no kind of sink",
      "outboxd.yaml:9: routes[0].topic: '{agregate_type}' is not a field of a message",
      "outboxd.yaml:10: routes[1].sink: 'evens' is not a sink of this file; did you mean 'events'?",
  };
  const auto got = lines(ran.err);
  ASSERT_EQ(got.size(), expected.size()) << ran.err;
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(got[i].find(expected[i]), 0u) << got[i];
}

// What only the kind of sink knows is said in the same list, each with its line.
TEST_F(Cli, LintSaysEverythingOfOneSink) {
  configure(
      "database: sqlite:shop.db\n"
      "sinks:\n"
      "  web:\n"
      "    type: http\n"
      "    url: ftp://partner.example.test\n"
      "    headers:\n"
      "      Host: elsewhere\n"
      "      \"no name\": x\n"
      "    sign: { scheme: standard-webhooks, secret: \"${SIGNING}\" }\n"
      "    answers: { 9xx: delivered, 404: perhaps }\n"
      "    tls: { key: key.pem }\n"
      "    concurency: 3\n"
      "  events:\n"
      "    type: kafka\n"
      "    brokers: [ a:1 ]\n"
      "    client:\n"
      "      acks: \"1\"\n"
      "      no.such.setting: x\n"
      "      retries: \"0\"\n"
      "  jets:\n"
      "    type: nats\n"
      "    servers: [ \"http://one\" ]\n"
      "    user: shop\n"
      "routes:\n"
      "  - { sink: web }\n"
      "  - { sink: events }\n"
      "  - { sink: jets }\n");
  const std::vector<std::string> expected{
      "outboxd.yaml:5: sinks.web.url: ",
      "outboxd.yaml:7: sinks.web.headers.Host: is set by the sink itself",
      "outboxd.yaml:8: sinks.web.headers.no name: this is not a header name",
      "outboxd.yaml:9: sinks.web.sign.secret: ",
      "outboxd.yaml:10: sinks.web.answers.404: ",
      "outboxd.yaml:10: sinks.web.answers.9xx: ",
      "outboxd.yaml:11: sinks.web.tls.key: ",
      "outboxd.yaml:12: sinks.web.concurency: unknown key; did you mean 'concurrency'?",
      "outboxd.yaml:17: sinks.events.client.acks: cannot be set",
      "outboxd.yaml:18: sinks.events.client.no.such.setting: the Kafka client has no such setting",
      "outboxd.yaml:19: sinks.events.client.retries: cannot be set",
      "outboxd.yaml:22: sinks.jets.servers: \"http://one\" is not nats://host:port",
      "outboxd.yaml:23: sinks.jets.user: user and password belong together",
  };
  for (const std::string command : {"config", "run"}) {
    const Ran ran = run(command == "run" ? std::vector<std::string>{"run"} : std::vector<std::string>{"config", "lint"},
                        {{"SIGNING", "TESTSECRET"}});
    EXPECT_EQ(ran.code, 2);
    EXPECT_EQ(ran.all().find("TESTSECRET"), std::string::npos) << ran.err;
    const auto got = lines(ran.err);
    ASSERT_EQ(got.size(), expected.size()) << ran.err;
    for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(got[i].find(expected[i]), 0u) << got[i];
  }
}

// B213 through the binary.
TEST_F(Cli, UnitsAreDemanded) {
  for (const std::string bad : {"10", "0", "-1", "'10 s'", "''", "0s", "10x"}) {
    configure(kGood + "drain_timeout: " + bad + "\n");
    const Ran ran = run({"config", "lint"});
    EXPECT_EQ(ran.code, 2) << bad;
    EXPECT_EQ(ran.err.find("outboxd.yaml:6: drain_timeout: "), 0u) << ran.err;
  }
  for (const std::string good : {"10s", "100ms", "1.5s"}) {
    configure(kGood + "drain_timeout: " + good + "\n");
    EXPECT_EQ(run({"config", "lint"}).code, 0) << good;
  }
}

// B215: a key that is new has a default, so a file of before still loads; an unknown one is named.
TEST_F(Cli, MissingKeysHaveDefaultsAndUnknownOnesANeighbour) {
  configure(kGood);
  EXPECT_EQ(run({"config", "lint"}).code, 0);
  configure(kGood + "drain_timeuot: 10s\n");
  EXPECT_EQ(lines(run({"config", "lint"}).err),
            std::vector<std::string>{"outboxd.yaml:6: drain_timeuot: unknown key; did you mean 'drain_timeout'?"});
}

TEST_F(Cli, WhatEachKindOfSinkNeedsIsNamedWithAnExample) {
  const std::map<std::string, std::string> examples{{"kafka", "write brokers: [ \"localhost:9092\" ]"},
                                                    {"rabbitmq", "write url: amqp://localhost"},
                                                    {"nats", "write servers: [ \"nats://localhost:4222\" ]"},
                                                    {"http", "write url: https://api.example.test/orders"},
                                                    {"file", "write path: outbox.jsonl"}};
  for (const auto& [type, example] : examples) {
    configure("database: sqlite:shop.db\nsinks: { a: { type: " + type + " } }\nroutes: [ { sink: a } ]\n");
    const Ran ran = run({"config", "lint"});
    EXPECT_EQ(ran.code, 2);
    EXPECT_NE(ran.err.find("is missing"), std::string::npos) << ran.err;
    EXPECT_NE(ran.err.find(example), std::string::npos) << ran.err;
  }
}

// B213 on the command line. A shell variable that is not set must not make a filter wider, or a run endless.
TEST_F(Cli, AnEmptyFlagIsNotOneThatIsLeftOut) {
  configure(kGood);
  ASSERT_EQ(run({"init"}).code, 0);
  for (const std::vector<std::string>& wrong :
       {std::vector<std::string>{"demo", "--for", ""},
        {"demo", "--for", "10"},
        {"list", "--since", ""},
        {"list", "--sink", ""},
        {"list", "--key", ""},
        {"requeue", "--sink", "", "--since", "1h"},
        {"requeue", "", "--dry-run"},
        {"discard", "--type", "", "--since", "1h", "--reason", "x"},
        {"discard", "--owner", "", "--died-of", "", "--reason", "x"},
        {"send", "--aggregate-type", "order", "--aggregate-id", "1", "--type", "T", "--payload", "{}", "--id", ""}}) {
    const Ran ran = run(wrong);
    EXPECT_EQ(ran.code, 2) << wrong[0] << " " << wrong[1];
    EXPECT_EQ(ran.err.find("outboxd " + wrong[0] + ": "), 0u) << ran.err;
    EXPECT_EQ(lines(ran.err).size(), 1u) << ran.err;
  }
  EXPECT_EQ(
      run({"send", "--aggregate-type", "order", "--aggregate-id", "1", "--type", "T", "--bytes", "--payload", ""}).code,
      0)
      << "a payload may be empty";
}

TEST_F(Cli, FlagBeforeEnvironmentBeforeFile) {
  configure(kGood + "log: { level: bad }\n");
  EXPECT_EQ(run({"config", "lint"}).code, 2);
  EXPECT_EQ(run({"config", "lint"}, {{"OUTBOX_LOG_LEVEL", "warn"}}).code, 0);
  configure(kGood);
  EXPECT_EQ(run({"config", "lint"}, {{"OUTBOX_DATABASE", "oracle:x"}}).code, 2);
  EXPECT_EQ(run({"config", "lint", "--database", "sqlite:y"}, {{"OUTBOX_DATABASE", "oracle:x"}}).code, 0);
  EXPECT_EQ(run({"config", "lint"}, {{"OUTBOX_CONFIG", "elsewhere.yaml"}}).code, 2);
}

TEST_F(Cli, InitIsSafeToRepeatAndPrintTouchesNothing) {
  const Ran printed = run({"init", "--database", "sqlite:shop.db", "--print"});
  EXPECT_EQ(printed.code, 0);
  EXPECT_NE(printed.out.find("CREATE TABLE"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "shop.db"));
  EXPECT_EQ(run({"init", "--database", "sqlite:shop.db"}).code, 0);
  const Ran again = run({"init", "--database", "sqlite:shop.db"});
  EXPECT_EQ(again.code, 0);
  EXPECT_NE(again.out.find("up to date"), std::string::npos) << again.out;
}

class CliOnSqlite : public Cli {
 protected:
  void SetUp() override {
    configure(kGood);
    ASSERT_EQ(run({"init"}).code, 0);
  }

  Ran send(std::vector<std::string> more, std::string input = {}) {
    std::vector<std::string> arguments{"send", "--aggregate-type", "order", "--aggregate-id", "4711", "--type", "Paid"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run(arguments, {}, std::move(input));
  }

  nlohmann::json status() { return nlohmann::json::parse(run({"status", "--json"}).out); }
};

TEST_F(Cli, ADatabaseThatIsMissingIsThreeAndStaysMissing) {
  configure(kGood);
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{"run", "--once"}, {"status"}, {"prune"}}) {
    const Ran ran = run(arguments);
    EXPECT_EQ(ran.code, 3) << arguments[0] << ran.err;
    EXPECT_EQ(lines(ran.err).size(), 1u) << ran.err;
    EXPECT_EQ(ran.err.find("outboxd: sqlite shop.db: "), 0u) << ran.err;
  }
  std::vector<std::string> left;
  for (const auto& each : std::filesystem::directory_iterator(folder_.path())) left.push_back(each.path().filename());
  EXPECT_EQ(left, std::vector<std::string>{"outboxd.yaml"});
}

TEST_F(Cli, ARelayWithoutItsSqliteFileSaysHowToMakeItAndWaits) {
  configure(kGood);
  ChildProcess relay({daemon_path().string(), "run"}, options());
  const std::string said =
      "sqlite shop.db: the file does not exist; make it with outboxd init --database sqlite:shop.db";
  ASSERT_TRUE(eventually(kPatience, [&] { return relay.standard_error().find(said) != std::string::npos; }))
      << relay.standard_error();
  EXPECT_TRUE(relay.running());
  EXPECT_FALSE(std::filesystem::exists(folder_.file("shop.db")));
  ASSERT_EQ(run({"init"}).code, 0);
  ASSERT_EQ(run({"send", "--aggregate-type", "o", "--aggregate-id", "1", "--type", "T", "--payload", "[1]"}).code, 0);
  EXPECT_TRUE(eventually(kPatience, [&] {
    return std::filesystem::exists(folder_.file("audit.jsonl")) && !read_file(folder_.file("audit.jsonl")).empty();
  })) << relay.standard_error();
  relay.terminate();
  const auto ended = relay.wait(kPatience);
  EXPECT_TRUE(ended && ended->code == 0) << relay.standard_error();
}

TEST_F(CliOnSqlite, ARenamedSinkIsAnErrorWhileRowsAreUnsentUnderTheOldName) {
  EXPECT_EQ(send({"--payload", "[1]"}).code, 0);
  EXPECT_EQ(run({"run", "--once"}).code, 0);
  EXPECT_EQ(send({"--payload", "[2]"}).code, 0);
  EXPECT_EQ(send({"--payload", "[3]"}).code, 0);
  configure("database: sqlite:shop.db\nsinks: { out: { type: stdout } }\nroutes: [ { sink: out } ]\n");
  const Ran refused = run({"run", "--once"});
  EXPECT_EQ(refused.code, 2);
  EXPECT_EQ(refused.out, "");
  for (const char* said : {"'audit'", "not passed 2 rows", "outboxd sink forget audit"}) {
    EXPECT_NE(refused.err.find(said), std::string::npos) << refused.err;
  }
  const Ran asked = run({"sink", "forget", "audit"});
  EXPECT_EQ(asked.code, 1);
  EXPECT_NE(asked.out.find("its position (2 rows not passed)"), std::string::npos) << asked.out;
  EXPECT_EQ(run({"sink", "forget", "audit", "--yes"}).code, 0);
  const Ran once = run({"run", "--once"});
  EXPECT_EQ(once.code, 0) << once.err;
  EXPECT_NE(once.err.find("passed_over=3 "), std::string::npos) << once.err;
}

// As after the loss of FILE-outboxd: what is not sent is said, once.
TEST_F(CliOnSqlite, RowsThatASinkPassesOverAreCounted) {
  configure("database: sqlite:shop.db\nsinks: { out: { type: stdout } }\nroutes: [ { sink: out } ]\n");
  EXPECT_EQ(run({"run", "--once"}).err.find("passed_over"), std::string::npos);
  EXPECT_EQ(send({"--payload", "[1]"}).code, 0);
  EXPECT_EQ(send({"--payload", "[2]"}).code, 0);
  for (const char* suffix : {"", "-wal", "-shm"}) {
    std::filesystem::remove(folder_.file(std::string("shop.db-outboxd") + suffix));
  }
  const Ran first = run({"run", "--once"});
  EXPECT_EQ(first.code, 0) << first.err;
  EXPECT_NE(first.err.find("sink=out passed_over=2 "), std::string::npos) << first.err;
  EXPECT_NE(first.err.find("from: beginning"), std::string::npos) << first.err;
  EXPECT_EQ(run({"run", "--once"}).err.find("passed_over"), std::string::npos);
}

// The numbers of what was sent since the backup are given out again, to messages that nobody has seen.
TEST_F(CliOnSqlite, AFileThatIsRestoredUnderARunningRelayIsReadOnFromTheBackup) {
  const auto send_all = [&](std::vector<std::string> payloads) {
    for (const auto& each : payloads) EXPECT_EQ(send({"--payload", "[" + each + "]"}).code, 0);
  };
  const auto has = [&](const std::string& payload) {
    return std::filesystem::exists(folder_.file("audit.jsonl")) &&
           read_file(folder_.file("audit.jsonl")).find("[" + payload + "]") != std::string::npos;
  };
  ChildProcess relay({daemon_path().string(), "run"}, options());
  send_all({"101", "102"});
  ASSERT_TRUE(eventually(kPatience, [&] { return has("102"); })) << relay.standard_error();
  copy_database(folder_.file("shop.db"), folder_.file("backup.db"));
  send_all({"103", "104", "105"});
  ASSERT_TRUE(eventually(kPatience, [&] { return has("105"); })) << relay.standard_error();

  copy_database(folder_.file("backup.db"), folder_.file("shop.db"));
  send_all({"203", "204", "205", "206"});
  EXPECT_TRUE(eventually(kPatience, [&] { return has("203") && has("204") && has("205") && has("206"); }))
      << relay.standard_error();
  relay.terminate();
  const auto ended = relay.wait(kPatience);
  EXPECT_TRUE(ended && ended->code == 0) << relay.standard_error();
  EXPECT_NE(relay.standard_error().find("restored"), std::string::npos) << relay.standard_error();
}

TEST_F(CliOnSqlite, SendPrintsTheIdAndTheMessageArrives) {
  const Ran sent = send({"--payload", "{\"b\": 1,  \"a\": 2}", "--header", "tenant=acme=1"});
  EXPECT_EQ(sent.code, 0) << sent.err;
  ASSERT_EQ(sent.out.size(), 37u);
  EXPECT_EQ(send({"--payload-file", "-"}, "[1]").code, 0);
  EXPECT_EQ(send({"--payload", "-"}, "[2]").code, 0);
  EXPECT_EQ(status()["unsent"], 3);

  EXPECT_EQ(run({"run", "--once"}).code, 0);
  const auto delivered = lines(read_file(folder_.path() / "audit.jsonl"));
  ASSERT_EQ(delivered.size(), 3u);
  EXPECT_NE(delivered[0].find(sent.out.substr(0, 36)), std::string::npos);
  EXPECT_NE(delivered[0].find("{\"b\": 1,  \"a\": 2}"), std::string::npos)
      << "the bytes as they were: " << delivered[0];
  EXPECT_EQ(nlohmann::json::parse(delivered[0])["headers"]["tenant"], "acme=1");
  EXPECT_EQ(status()["unsent"], 0);
}

TEST_F(CliOnSqlite, ADuplicateIdStoresNothing) {
  const std::string id = "0190b5e4-3c5a-7000-8000-000000000001";
  EXPECT_EQ(send({"--id", id, "--payload", "{}"}).out, id + "\n");
  const Ran again = send({"--id", id, "--payload", "{}"});
  EXPECT_EQ(again.code, 0);
  EXPECT_EQ(again.out, id + "\n");
  EXPECT_NE(again.err.find("was there already"), std::string::npos);
  EXPECT_EQ(status()["unsent"], 1);
}

TEST_F(CliOnSqlite, SendRefusesWhatIsWrong) {
  for (const std::vector<std::string>& wrong :
       std::vector<std::vector<std::string>>{{"--payload", "{not json"},
                                             {"--id", "no-uuid", "--payload", "{}"},
                                             {"--not-before", "tomorrow", "--payload", "{}"},
                                             {"--header", "novalue", "--payload", "{}"},
                                             {"--payload-file", "no-such-file"},
                                             {"--payload", "{}", "--payload-file", "x"},
                                             {}}) {
    const Ran ran = send(wrong);
    EXPECT_EQ(ran.code, 2) << testing::PrintToString(wrong) << ran.err;
    EXPECT_EQ(ran.out, "");
    EXPECT_EQ(lines(ran.err).size(), 1u) << ran.err;
  }
  EXPECT_EQ(status()["unsent"], 0);
}

TEST_F(CliOnSqlite, StatusWatchEndsAtASignal) {
  ChildProcess watch({daemon_path().string(), "status", "--watch", "--json"}, options());
  EXPECT_TRUE(eventually(kPatience, [&] { return !watch.standard_output().empty(); }));
  watch.terminate();
  const auto ended = watch.wait(kPatience);
  ASSERT_TRUE(ended);
  EXPECT_TRUE(ended->succeeded());
}

TEST_F(CliOnSqlite, PruneCountsFirst) {
  EXPECT_EQ(run({"prune", "--dry-run"}).out, "0 rows would go\n");
  EXPECT_EQ(run({"prune"}).out, "0 rows deleted\n");
}

TEST_F(Cli, VersionNamesTheLibraries) {
  const auto version = nlohmann::json::parse(run({"version", "--json"}).out);
  EXPECT_EQ(run({"--version"}).out, "outboxd " + version["version"].get<std::string>() + "\n");
  for (const char* library : {"libpq", "sqlite", "librdkafka", "libcurl", "openssl"}) {
    EXPECT_FALSE(version["libraries"][library].get<std::string>().empty());
  }
}

TEST_F(Cli, TheReferencePageIsNotStale) {
  EXPECT_EQ(run({"config", "doc"}).out, read_file(source_dir() / "docs/reference/configuration.md"))
      << "run: outboxd config doc > docs/reference/configuration.md";
}

TEST_F(Cli, TheSchemaKnowsEverySink) {
  const auto schema = nlohmann::json::parse(run({"config", "schema"}).out);
  std::vector<std::string> types;
  for (const auto& sink : schema["properties"]["sinks"]["additionalProperties"]["oneOf"]) {
    types.push_back(sink["properties"]["type"]["const"]);
  }
  EXPECT_EQ(types, (std::vector<std::string>{"kafka", "rabbitmq", "nats", "http", "file", "stdout", "embedded"}));
}

// B223: two secrets through every command, with a start-up that fails, a delivery that fails, and debug log.
TEST_F(Cli, NoSecretComesOutAnywhere) {
  const Environment environment{{"SIGNING", "whsec_VEVTVFNFQ1JFVDEyMzQ1Njc4OTBhYmNk"}, {"TOKEN", "Bearer tok_ABC"}};
  const std::string secrets =
      "  web:\n"
      "    type: http\n"
      "    url: http://127.0.0.1:1/hook\n"
      "    headers: { Authorization: \"${TOKEN}\" }\n"
      "    sign: { scheme: standard-webhooks, secret: \"${SIGNING}\" }\n"
      "    from: beginning\n";
  const std::string good =
      "database: sqlite:shop.db\nlog: { level: debug }\nadmin: { listen: \"127.0.0.1:0\" }\n"
      "sinks:\n" +
      secrets + "routes: [ { sink: web } ]\n";
  const auto expect_clean = [](const Ran& ran) {
    EXPECT_EQ(ran.all().find("VEVTVFNFQ1"), std::string::npos) << ran.all();
    EXPECT_EQ(ran.all().find("TESTSECRET"), std::string::npos) << ran.all();
    EXPECT_EQ(ran.all().find("tok_ABC"), std::string::npos) << ran.all();
  };
  for (const std::string& wrong : {good + "databse: \"${SIGNING}\"\n", good + "drain_timeout: \"${TOKEN}\"\n",
                                   good + "retry: { attempts: \"${SIGNING}\" }\n",
                                   good + "breaker: [ whsec_VEVTVFNFQ1JFVDEyMzQ1Njc4OTBhYmNk ]\n"}) {
    configure(wrong);
    const Ran ran = run({"config", "lint"}, environment);
    EXPECT_EQ(ran.code, 2) << ran.err;
    expect_clean(ran);
  }
  configure(good);
  const Ran lint = run({"config", "lint"}, environment);
  EXPECT_EQ(lint.code, 0) << lint.err;
  expect_clean(lint);
  expect_clean(run({"init"}, environment));
  expect_clean(
      run({"send", "--aggregate-type", "a", "--aggregate-id", "1", "--type", "T", "--payload", "{}"}, environment));

  ChildProcess daemon({daemon_path().string(), "run"}, options(environment));
  const auto tried = [&] {
    const Ran status = run({"status", "--json"}, environment);
    expect_clean(status);
    return status.out.find("refused") != std::string::npos;
  };
  EXPECT_TRUE(eventually(kPatience, tried)) << daemon.standard_error();
  daemon.terminate();
  EXPECT_TRUE(daemon.wait(kPatience));
  expect_clean({0, daemon.standard_output(), daemon.standard_error()});
}

}  // namespace
}  // namespace outbox::test
