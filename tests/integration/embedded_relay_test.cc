// outbox::Relay in a program, and outboxd beside it: the same tables, the same dead letters.
#include "outbox/relay.h"

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>

#include "outbox/sqlite.h"
#include "support/daemon.h"
#include "support/eventually.h"

namespace outbox::test {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;

// Remembers what came, and says what the test wants to hear.
class Recorder : public MessageSink {
 public:
  using Answer = std::function<DeliveryOutcome(const OutboundMessage&)>;
  explicit Recorder(Answer answer = [](const auto&) { return DeliveryOutcome::delivered(); })
      : answer_(std::move(answer)) {}

  DeliveryOutcome deliver(const OutboundMessage& message) override {
    ++calls_;
    DeliveryOutcome outcome = answer_(message);
    const std::lock_guard lock(mutex_);
    if (outcome.kind() == DeliveryOutcome::Kind::delivered) delivered_.push_back(message);
    return outcome;
  }

  std::vector<OutboundMessage> delivered() const {
    const std::lock_guard lock(mutex_);
    return delivered_;
  }
  std::vector<std::string> ids() const {
    std::vector<std::string> ids;
    for (const OutboundMessage& each : delivered()) ids.push_back(each.id);
    return ids;
  }
  bool waits_for(std::size_t count) const {
    return eventually(60s, [&] { return delivered().size() >= count; });
  }
  int calls() const { return calls_; }

 private:
  const Answer answer_;
  mutable std::mutex mutex_;
  std::vector<OutboundMessage> delivered_;
  std::atomic<int> calls_ = 0;
};

MessageSinkOptions from_first() {
  MessageSinkOptions options;
  options.from_beginning = true;
  options.retry_base = 10ms;
  options.retry_cap = 20ms;
  return options;
}

class EmbeddedRelay : public testing::Test {
 protected:
  void SetUp() override {
    daemon_.configure("database: \"" + url() + "\"\nsinks:\n  mail: { type: embedded }\n" + other_sink_ +
                      "routes:\n  - { sink: mail }\n" + other_route_);
    const Ran made = daemon_.run({"init"});
    ASSERT_EQ(made.code, 0) << made.err;
    sqlite3* opened = nullptr;
    ASSERT_EQ(sqlite3_open(daemon_.file("shop.db").c_str(), &opened), SQLITE_OK);
    database_.reset(opened);
    sqlite3_busy_timeout(opened, 5000);
  }

  std::string url() const { return "sqlite:" + daemon_.file("shop.db"); }
  RelayOptions options() const {
    RelayOptions options;
    options.database = url();
    return options;
  }

  std::string enqueue(const std::string& order, const std::string& payload = "{}", const std::string& end = "commit") {
    Message message;
    message.aggregate_type = "order";
    message.aggregate_id = order;
    message.type = "OrderPlaced";
    message.payload = payload;
    execute("begin immediate");
    const std::string id = outbox::enqueue(database_.get(), message).id;
    execute(end);
    return id;
  }
  void execute(const std::string& sql) {
    ASSERT_EQ(sqlite3_exec(database_.get(), sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
        << sqlite3_errmsg(database_.get());
  }
  json dead_letters() {
    const Ran listed = daemon_.run({"list", "--state", "dead", "--json"});
    EXPECT_EQ(listed.code, 0) << listed.err;
    return json::parse(listed.out)["deliveries"];
  }

  std::string other_sink_;
  std::string other_route_;
  Daemon daemon_;
  std::unique_ptr<sqlite3, decltype(&sqlite3_close)> database_{nullptr, &sqlite3_close};
};

TEST_F(EmbeddedRelay, DeliversWhatWasCommittedInTheOrderOfEachKey) {
  auto sink = std::make_shared<Recorder>();
  MessageSinkOptions parallel = from_first();
  parallel.concurrency = 4;
  Relay relay(options());
  relay.add_sink("mail", sink, parallel);
  relay.start();
  std::map<std::string, std::vector<std::string>> sent;
  for (int n = 0; n < 60; ++n) {
    const std::string order = std::to_string(n % 7);
    sent[order].push_back(enqueue(order, "{\"n\":" + std::to_string(n) + "}"));
    enqueue(order, "{}", "rollback");
    relay.poke();
  }
  ASSERT_TRUE(sink->waits_for(60));
  relay.stop();
  std::map<std::string, std::vector<std::string>> arrived;
  for (const auto& each : sink->delivered()) arrived[each.aggregate_id].push_back(each.id);
  EXPECT_EQ(arrived, sent);
  const RelayFigures figures = relay.figures();
  EXPECT_EQ(figures.state, RelayFigures::State::stopped);
  ASSERT_EQ(figures.sinks.size(), 1u);
  EXPECT_EQ(figures.sinks[0].name, "mail");
  EXPECT_EQ(figures.sinks[0].delivered, 60u);
}

TEST_F(EmbeddedRelay, ARefusedMessageIsADeadLetterThatOutboxdSendsAgain) {
  std::atomic<bool> refuses = true;
  auto sink = std::make_shared<Recorder>([&](const OutboundMessage& message) {
    if (refuses && message.payload == "{\"bad\":1}") return DeliveryOutcome::rejected("bad_address", "no such mailbox");
    return DeliveryOutcome::delivered();
  });
  Relay relay(options());
  relay.add_sink("mail", sink, from_first());
  relay.start();
  const std::string refused = enqueue("2", "{\"bad\":1}");
  const std::string after = enqueue("2");
  const std::string other = enqueue("3");
  ASSERT_TRUE(sink->waits_for(2));
  EXPECT_EQ(std::ranges::count(sink->ids(), after), 1) << "its key goes on";
  EXPECT_EQ(std::ranges::count(sink->ids(), other), 1);
  ASSERT_TRUE(eventually(60s, [&] { return relay.figures().sinks[0].died == 1; }));
  refuses = false;

  const json dead = dead_letters();
  ASSERT_EQ(dead.size(), 1u);
  EXPECT_EQ(dead[0]["id"], refused);
  EXPECT_EQ(dead[0]["sink"], "mail");
  EXPECT_EQ(dead[0]["reason"], "bad_address");
  const Ran again = daemon_.run({"requeue", refused});
  ASSERT_EQ(again.code, 0) << again.err;
  ASSERT_TRUE(eventually(60s, [&] { return std::ranges::count(sink->ids(), refused) == 1; }));
  EXPECT_TRUE(eventually(60s, [&] { return dead_letters().empty(); }));
}

TEST_F(EmbeddedRelay, WhatFailsIsTriedAgainWithTheSameId) {
  std::atomic<int> failures = 3;
  auto sink = std::make_shared<Recorder>([&](const OutboundMessage&) {
    if (failures-- > 0) throw std::runtime_error("the line is dead");
    return DeliveryOutcome::delivered();
  });
  Relay relay(options());
  relay.add_sink("mail", sink, from_first());
  relay.start();
  const std::string id = enqueue("1");
  ASSERT_TRUE(sink->waits_for(1));
  EXPECT_EQ(sink->ids(), std::vector<std::string>{id});
  EXPECT_EQ(sink->calls(), 4);
}

TEST_F(EmbeddedRelay, AStopAndAStartLoseNothingAndSendNothingTwice) {
  std::vector<std::string> sent;
  for (int n = 0; n < 200; ++n) sent.push_back(enqueue("1"));
  std::vector<std::string> arrived;
  for (std::size_t life = 1; arrived.size() < sent.size(); ++life) {
    ASSERT_LE(life, sent.size());
    auto sink = std::make_shared<Recorder>();
    Relay relay(options());
    relay.add_sink("mail", sink, from_first());
    relay.start();
    ASSERT_TRUE(sink->waits_for(std::min<std::size_t>(20, sent.size() - arrived.size())));
    relay.stop();
    for (const std::string& id : sink->ids()) arrived.push_back(id);
  }
  EXPECT_EQ(arrived, sent);
}

TEST_F(EmbeddedRelay, OnlyWhatItsSinksWantIsTheirs) {
  auto orders = std::make_shared<Recorder>();
  auto nothing = std::make_shared<Recorder>();
  MessageSinkOptions invoices = from_first();
  invoices.aggregate_type = "invoice";
  MessageSinkOptions placed = from_first();
  placed.type = "OrderPlaced";
  Relay relay(options());
  relay.add_sink("mail", orders, placed);
  relay.add_sink("print", nothing, invoices);
  relay.start();
  for (int n = 0; n < 10; ++n) enqueue("1");
  ASSERT_TRUE(orders->waits_for(10));
  EXPECT_EQ(nothing->calls(), 0);
  EXPECT_TRUE(dead_letters().empty()) << "what nobody wants is no dead letter";
}

TEST_F(EmbeddedRelay, OneOfTwoOnTheSameFileStandsByAndTakesOver) {
  auto first = std::make_shared<Recorder>();
  auto second = std::make_shared<Recorder>();
  auto one = std::make_unique<Relay>(options());
  one->add_sink("mail", first, from_first());
  one->start();
  enqueue("1");
  ASSERT_TRUE(first->waits_for(1));
  Relay other(options());
  other.add_sink("mail", second, from_first());
  other.start();
  ASSERT_TRUE(eventually(60s, [&] { return other.figures().state == RelayFigures::State::running; }));
  one.reset();
  enqueue("1");
  ASSERT_TRUE(second->waits_for(1));
  EXPECT_EQ(first->calls(), 1);
  EXPECT_EQ(second->calls(), 1);
}

TEST_F(EmbeddedRelay, TheLogGoesWhereTheProgramSays) {
  std::mutex mutex;
  std::string text;
  set_relay_log(RelayLogLevel::info, [&](RelayLogLevel, std::string_view line) {
    const std::lock_guard lock(mutex);
    text.append(line).append("\n");
  });
  {
    Relay relay(options());
    relay.add_sink("mail", std::make_shared<Recorder>(), from_first());
    relay.start();
    EXPECT_TRUE(eventually(60s, [&] { return relay.figures().state == RelayFigures::State::running; }));
  }
  set_relay_log(RelayLogLevel::warn, {});
  EXPECT_NE(text.find("feed taken over"), std::string::npos) << text;
}

// What is wrong is said at once, and whether it helps to wait.
TEST_F(EmbeddedRelay, StartSaysWhatIsWrong) {
  const auto start = [](const RelayOptions& options, bool with_sink) -> std::optional<Error> {
    try {
      Relay relay(options);
      if (with_sink) relay.add_sink("mail", std::make_shared<Recorder>());
      relay.start();
    } catch (const Error& error) {
      return error;
    }
    return std::nullopt;
  };
  EXPECT_FALSE(start(options(), true));
  const auto no_sink = start(options(), false);
  ASSERT_TRUE(no_sink);
  EXPECT_FALSE(no_sink->retryable());

  RelayOptions no_table = options();
  no_table.table = "letters";
  const auto missing = start(no_table, true);
  ASSERT_TRUE(missing);
  EXPECT_FALSE(missing->retryable()) << missing->what();

  RelayOptions away;
  away.database = "postgresql://shop:hush@127.0.0.1:1/shop";
  const auto unreachable = start(away, true);
  ASSERT_TRUE(unreachable);
  EXPECT_TRUE(unreachable->retryable()) << unreachable->what();
  EXPECT_EQ(std::string(unreachable->what()).find("hush"), std::string::npos);

  EXPECT_TRUE(start({}, true)) << "no database at all";
}

// A sink of a program and one of outboxd's on the same table, each by itself. The daemon knows the other by its name,
// so that what waits for it is no riddle.
class BesideTheDaemon : public EmbeddedRelay {
 protected:
  BesideTheDaemon() {
    other_sink_ = "  audit: { type: file, path: audit.jsonl, from: beginning }\n";
    other_route_ = "  - { sink: audit }\n";
  }
};

TEST_F(BesideTheDaemon, EachDeliversToItsOwnSinks) {
  // SQLite has one relay at a time: they take turns.
  for (int n = 0; n < 5; ++n) enqueue(std::to_string(n));
  auto sink = std::make_shared<Recorder>([](const OutboundMessage& message) {
    if (message.aggregate_id == "3") return DeliveryOutcome::unavailable("down", "");
    return DeliveryOutcome::delivered();
  });
  {
    Relay relay(options());
    relay.add_sink("mail", sink, from_first());
    relay.start();
    ASSERT_TRUE(sink->waits_for(3));
  }
  const Ran once = daemon_.run_once();
  EXPECT_EQ(once.code, 0) << once.err;
  EXPECT_EQ(lines_of(read_file(daemon_.file("audit.jsonl"))).size(), 5u);
  EXPECT_TRUE(dead_letters().empty());
}

TEST_F(EmbeddedRelay, TheDaemonHasNothingToDoWhereAllSinksAreEmbedded) {
  const Ran run = daemon_.run({"run", "--once"});
  EXPECT_EQ(run.code, 2);
  EXPECT_NE(run.err.find("embedded"), std::string::npos) << run.err;
}

}  // namespace
}  // namespace outbox::test
