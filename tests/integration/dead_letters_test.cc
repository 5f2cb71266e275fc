// Dead letters as the person on call meets them: found, understood, corrected, sent again, discarded, by the command
// line, beside a daemon that runs. docs/guide/dead-letters.md names these tests.
#include <algorithm>
#include <atomic>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>

#include "integration/daemon_fixture.h"
#include "support/paths.h"

namespace outbox::test {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;

class DeadLetters : public DaemonTest {
 protected:
  void configure_events(const std::string& more = {}) {
    stub_.set_script([this](const StubRequest& request) {
      return StubReply{refusing_ && request.body.find("bad") != std::string::npos ? 422 : 200, {}, "no such street"};
    });
    configure(http_sink("events", stub_), "  - { sink: events, owner: billing }\n",
              "retry: { base: 10ms, cap: 20ms }\n" + more);
  }

  Ran command(std::vector<std::string> arguments) { return daemon_.run(std::move(arguments)); }
  json read(const std::vector<std::string>& arguments) {
    const Ran ran = command(arguments);
    EXPECT_EQ(ran.code, 0) << ran.err;
    return ran.code == 0 ? json::parse(ran.out) : json();
  }

  bool wait_for(const std::string& state, const std::string& number) {
    return eventually(60s, [&] { return count(state) == number; });
  }

  HttpStub stub_;
  std::atomic<bool> refusing_ = true;
};

TEST_F(DeadLetters, OneIsFoundCorrectedAndSentAgain) {
  configure_events();
  auto relay = daemon_.start();
  send("1");
  const auto id = send("2", "Confirmed", R"({"street":"bad"})");
  ASSERT_TRUE(wait_for("dead", "1")) << relay->standard_error();

  const auto listed = read({"list", "--state", "dead", "--owner", "billing", "--died-of", "http_422", "--since", "1h",
                            "--json"})["deliveries"];
  ASSERT_EQ(listed.size(), 1u);
  EXPECT_EQ(listed[0]["id"], id);
  EXPECT_EQ(listed[0]["sink"], "events");
  EXPECT_EQ(listed[0]["aggregate_id"], "2");
  EXPECT_EQ(listed[0]["reason"], "http_422");
  EXPECT_NE(listed[0]["error"].get<std::string>().find("422"), std::string::npos);
  EXPECT_TRUE(read({"list", "--owner", "shipping", "--json"})["deliveries"].empty());
  const auto life = read({"show", id, "--json"});
  EXPECT_EQ(life["deliveries"][0]["state"], "dead");
  EXPECT_EQ(life["deliveries"][0]["attempts"], 1);
  EXPECT_EQ(command({"show", id, "--payload"}).out, R"({"street":"bad"})");

  write_file(daemon_.file("fixed.json"), R"({"street":"good"})");
  const Ran sent = command({"requeue", id, "--payload-file", "fixed.json", "--reason", "typo", "--actor", "ana"});
  ASSERT_EQ(sent.code, 0) << sent.err;
  const std::string new_id = sent.out.substr(0, 36);
  ASSERT_TRUE(stub_.wait_for_requests(3)) << relay->standard_error();
  const auto last = stub_.requests().back();
  EXPECT_EQ(last.body, R"({"street":"good"})");
  EXPECT_EQ(last.header("idempotency-key"), new_id);
  EXPECT_EQ(last.header("message-type"), "Confirmed");
  EXPECT_EQ(last.header("aggregate-id"), "2");
  EXPECT_EQ(last.header("replaces"), id);
  EXPECT_NE(new_id, id);
  EXPECT_EQ(new_id.at(14), '7');

  ASSERT_TRUE(eventually(30s, [&] { return state_of(new_id) == "done"; }));
  const auto after = read({"show", id, "--json"});
  EXPECT_EQ(after["deliveries"][0]["state"], "discarded");
  EXPECT_EQ(after["deliveries"][0]["reason"], "replaced");
  EXPECT_EQ(after["audit"][0]["actor"], "ana");
  EXPECT_EQ(after["audit"][0]["reason"], "typo");
  EXPECT_EQ(after["audit"][0]["detail"].get<std::string>().find("by " + new_id), 0u);
  EXPECT_EQ(stop(*relay), 0) << relay->standard_error();
}

TEST_F(DeadLetters, ACorrectedPayloadHasToBeJsonWhereTheFirstWas) {
  configure_events();
  const auto id = send("1", "T", R"(["bad"])");
  EXPECT_EQ(daemon_.run({"run", "--once"}).code, 1);
  write_file(daemon_.file("broken.json"), "{\"street\":");
  const Ran refused = command({"requeue", id, "--payload-file", "broken.json"});
  EXPECT_EQ(refused.code, 2);
  EXPECT_NE(refused.err.find("not JSON"), std::string::npos) << refused.err;
  EXPECT_EQ(state_of(id), "dead");
}

// B111: any bytes, an empty header, a repeated one.
TEST_F(DeadLetters, ABinaryOneIsSentAgainAsItWas) {
  init_ = {"init", "--payload", "bytea"};
  configure_events();
  stub_.set_script([this](const StubRequest&) { return StubReply{refusing_ ? 422 : 200}; });
  const auto id = *database_
                       ->query(
                           "insert into outbox (aggregatetype, aggregateid, type, payload, headers, created_at)"
                           " values ('order', 'K', 'T', $1::bytea, $2::jsonb, '2026-01-31 23:59:50.123456+00')"
                           " returning id",
                           {R"(\x00ff7b)", R"({"tenant":["x","y"],"empty":"","c":"d"})"})
                       .at(0)
                       .at(0);
  EXPECT_EQ(daemon_.run({"run", "--once"}).code, 1);
  refusing_ = false;
  EXPECT_EQ(command({"requeue", id}).code, 0);
  EXPECT_EQ(daemon_.run({"run", "--once"}).code, 0);
  const auto requests = stub_.requests();
  ASSERT_EQ(requests.size(), 2u);
  EXPECT_EQ(requests[1].body, std::string("\x00\xff\x7b", 3));
  EXPECT_EQ(requests[1].count("tenant"), 2u);
  EXPECT_EQ(requests[1].count("empty"), 1u);
  EXPECT_EQ(requests[0].raw, requests[1].raw);
  EXPECT_EQ(database_->value("select d.created_at = o.created_at from outbox_delivery d join outbox o on o.id::text ="
                             " d.message_id"),
            "t");
}

// B117: what is on its way, or has arrived, is left alone.
TEST_F(DeadLetters, NothingButADeadLetterIsSentAgainOrDiscarded) {
  configure(http_sink("events", stub_), "  - { sink: events }\n", "retry: { base: 1h, cap: 1h }\n");
  stub_.set_script([](const StubRequest& request) { return StubReply{request.body == "[409]" ? 409 : 200}; });
  const auto sent = send("1"), waiting = send("2", "T", "[409]"), behind = send("2");
  auto relay = daemon_.start();
  ASSERT_TRUE(wait_for("waiting", "2")) << relay->standard_error();
  ASSERT_TRUE(eventually(30s, [&] { return command({"show", sent}).out.find("sent") != std::string::npos; }));
  EXPECT_EQ(stop(*relay), 0) << relay->standard_error();
  const auto pending = send("3");
  const std::size_t requests = stub_.request_count();
  const std::vector<std::tuple<std::string, int, std::string>> cases{{sent, 1, "was delivered"},
                                                                     {waiting, 0, "waits already"},
                                                                     {behind, 0, "waits already"},
                                                                     {pending, 0, "is not sent yet"},
                                                                     {"nobody", 1, "is no dead letter"}};
  for (const auto& [id, code, why] : cases) {
    const Ran again = command({"requeue", id});
    EXPECT_EQ(again.code, code) << again.err;
    EXPECT_NE(again.err.find(id), std::string::npos) << again.err;
    EXPECT_NE(again.err.find(why), std::string::npos) << again.err;
    EXPECT_EQ(again.out, "0 are sent again\n");
    const Ran discarded = command({"discard", id, "--reason", "x"});
    EXPECT_EQ(discarded.code, 1) << discarded.err;
    EXPECT_EQ(discarded.out, "0 discarded\n");
  }
  relay = daemon_.start();
  ASSERT_TRUE(stub_.wait_for_requests(requests + 1)) << relay->standard_error();
  EXPECT_EQ(stop(*relay), 0) << relay->standard_error();
  EXPECT_EQ(stub_.request_count(), requests + 1) << "the pending one";
  EXPECT_EQ(ids_of(stub_.requests()).back(), pending);
}

// B111: on the wire nothing tells a message that was sent again from the first try.
TEST_F(DeadLetters, OneThatIsSentAgainUnchangedEqualsTheFirstSend) {
  configure_events();
  const auto id = *database_
                       ->query("select outbox_send('order', $1, 'T', $2, $3::jsonb)",
                               {"K", R"({"b":1,"a":"bad"})", R"({"tenant":["x","y"],"empty":""})"})
                       .at(0)
                       .at(0);
  auto relay = daemon_.start();
  ASSERT_TRUE(wait_for("dead", "1")) << relay->standard_error();
  refusing_ = false;
  const Ran sent = command({"requeue", id});
  EXPECT_EQ(sent.code, 0) << sent.err;
  EXPECT_EQ(sent.out, "1 are sent again\n");
  ASSERT_TRUE(stub_.wait_for_requests(2)) << relay->standard_error();
  const auto requests = stub_.requests();
  EXPECT_EQ(requests[0].raw, requests[1].raw);
  EXPECT_EQ(requests[1].header("idempotency-key"), id);
  ASSERT_TRUE(wait_for("done", "1"));

  // B117: what was delivered is not sent again.
  const Ran again = command({"requeue", id});
  EXPECT_EQ(again.code, 1);
  EXPECT_NE(again.err.find("was delivered"), std::string::npos) << again.err;
  EXPECT_EQ(stop(*relay), 0) << relay->standard_error();
  EXPECT_EQ(stub_.request_count(), 2u);
}

TEST_F(DeadLetters, ManyAreSentAgainInTheOrderOfTheirKeysWhileTrafficGoesOn) {
  configure_events();
  auto relay = daemon_.start();
  std::map<std::string, std::vector<std::string>> buried;
  for (int i = 0; i < 60; ++i) {
    const auto key = "K" + std::to_string(i % 3);
    buried[key].push_back(send(key, "T", R"(["bad"])"));
  }
  ASSERT_TRUE(wait_for("dead", "60")) << relay->standard_error();
  std::map<std::string, std::vector<std::string>> fresh;
  const auto keep_sending = [&](int messages) {
    for (int i = 0; i < messages; ++i) {
      const auto key = "K" + std::to_string(i % 3);
      fresh[key].push_back(send(key, "T", R"(["fresh"])"));
    }
  };
  keep_sending(60);
  refusing_ = false;
  auto requeue = std::make_unique<ChildProcess>(
      std::vector<std::string>{daemon_path().string(), "requeue", "--sink", "events", "--type", "T"},
      ProcessOptions{{}, daemon_.path().string(), {}});
  keep_sending(240);
  const auto ended = requeue->wait(60s);
  ASSERT_TRUE(ended && ended->code == 0) << requeue->standard_error();
  ASSERT_TRUE(wait_for("dead", "0"));
  ASSERT_TRUE(stub_.wait_for_requests(60 + 300 + 60, 60s)) << relay->standard_error();
  ASSERT_TRUE(wait_for("waiting", "0"));
  std::map<std::string, std::vector<std::string>> again, first;
  std::map<std::string, int> tries;
  for (const auto& request : stub_.requests()) {
    const auto id = request.header("idempotency-key");
    const bool is_again = request.body == R"(["bad"])" && ++tries[id] == 2;
    if (is_again) again[request.header("aggregate-id")].push_back(id);
    if (request.body == R"(["fresh"])") first[request.header("aggregate-id")].push_back(id);
  }
  EXPECT_EQ(again, buried);
  EXPECT_EQ(first, fresh);
  EXPECT_EQ(stop(*relay), 0) << relay->standard_error();
}

TEST_F(DeadLetters, WhatIsDiscardedStandsInTheAudit) {
  configure_events();
  const auto id = send("1", "T", R"(["bad"])");
  send("2", "T", R"(["bad"])");
  EXPECT_EQ(daemon_.run({"run", "--once"}).code, 1);
  EXPECT_EQ(command({"discard", id}).code, 2) << "a reason is wanted";
  const Ran dry = command({"discard", "--key", "order:1", "--dry-run"});
  EXPECT_EQ(dry.out, "1 would be discarded\n") << dry.err;
  EXPECT_EQ(count("dead"), "2");
  const Ran done = command({"discard", "--key", "order:1", "--reason", "order was cancelled", "--actor", "ana"});
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_EQ(state_of(id), "discarded");
  EXPECT_EQ(count("dead"), "1");
  EXPECT_EQ(database_->value("select actor || '|' || action || '|' || sink || '|' || message_id || '|' || reason from"
                             " outbox_audit"),
            "ana|discarded|events|" + id + "|order was cancelled");
  refusing_ = false;
  EXPECT_EQ(command({"requeue", id}).code, 1);
  EXPECT_EQ(daemon_.run({"run", "--once"}).code, 0);
  EXPECT_EQ(stub_.request_count(), 2u);
}

// B119
TEST_F(DeadLetters, AMessageIsNotReplayedWithoutEnd) {
  configure_events("dead_letters: { replays: 2 }\n");
  const auto id = send("1", "T", R"(["bad"])");
  auto relay = daemon_.start();
  for (std::size_t replay = 0; replay <= 2; ++replay) {
    ASSERT_TRUE(stub_.wait_for_requests(replay + 1)) << relay->standard_error();
    ASSERT_TRUE(wait_for("dead", "1"));
    const Ran ran = command({"requeue", id});
    EXPECT_EQ(ran.code, replay < 2 ? 0 : 1) << ran.err;
    EXPECT_EQ(ran.err.find("sent again 2 times already") != std::string::npos, replay == 2) << ran.err;
  }
  EXPECT_EQ(command({"requeue", "--all", "--dry-run"}).code, 1);
  EXPECT_EQ(stop(*relay), 0) << relay->standard_error();
  EXPECT_EQ(stub_.request_count(), 3u);
  EXPECT_EQ(database_->value("select replays from outbox_delivery"), "2");
}

// B113: whenever the command is killed, every dead letter is either still dead or due.
TEST_F(DeadLetters, ARequeueThatIsKilledLosesNothing) {
  configure_events();
  database_->execute("select outbox_send('order', (n % 50)::text, 'T', '[\"bad\"]') from generate_series(1, 1000) n");
  EXPECT_EQ(daemon_.run({"run", "--once"}).code, 1);
  ASSERT_EQ(count("dead"), "1000");
  stub_.keep_requests(true);
  const auto before = stub_.request_count();
  // Slow enough to be met half-way.
  database_->execute(
      "create function slow() returns trigger language plpgsql as $$begin perform pg_sleep(0.002); return new; end$$;"
      "create trigger slow before update on outbox_delivery for each row execute function slow()");
  {
    ChildProcess requeue({daemon_path().string(), "requeue", "--all"}, {{}, daemon_.path().string(), {}});
    ASSERT_TRUE(eventually(60s, [&] { return std::stoi(count("waiting")) >= 300; })) << requeue.standard_error();
    requeue.kill_and_wait();
  }
  const int waiting = std::stoi(count("waiting"));
  EXPECT_LT(waiting, 1000) << "it was killed too late";
  EXPECT_EQ(waiting + std::stoi(count("dead")), 1000);
  EXPECT_EQ(database_->value("select count(*) from outbox_audit"), std::to_string(waiting));
  database_->execute("drop trigger slow on outbox_delivery");
  refusing_ = false;
  EXPECT_EQ(command({"requeue", "--all"}).code, 0);
  EXPECT_EQ(count("dead"), "0");
  EXPECT_EQ(daemon_.run({"run", "--once"}).code, 0);
  EXPECT_EQ(count("done"), "1000");
  EXPECT_EQ(stub_.request_count() - before, 1000u);
}

TEST_F(DeadLetters, AHeldKeyGoesOnInOrderBehindTheCorrectedMessage) {
  configure_events("dead_letters: { key: hold }\n");
  const auto a = send("K", "T", R"(["bad"])");
  const auto b = send("K", "T", R"(["b"])");
  const auto c = send("K", "T", R"(["c"])");
  auto relay = daemon_.start();
  ASSERT_TRUE(wait_for("dead", "1")) << relay->standard_error();
  ASSERT_TRUE(wait_for("waiting", "2")) << relay->standard_error();
  write_file(daemon_.file("fixed.json"), R"(["a"])");
  const Ran sent = command({"requeue", a, "--payload-file", "fixed.json"});
  ASSERT_EQ(sent.code, 0) << sent.err;
  const auto d = send("K", "T", R"(["d"])");
  ASSERT_TRUE(stub_.wait_for_requests(5)) << relay->standard_error();
  EXPECT_EQ(ids_of(stub_.requests()), (std::vector<std::string>{a, sent.out.substr(0, 36), b, c, d}));
  EXPECT_EQ(stop(*relay), 0) << relay->standard_error();
}

TEST_F(DeadLetters, TheSameIdIsKeptOnDemandWithAWarning) {
  configure_events();
  const auto id = send("1", "T", R"(["bad"])");
  EXPECT_EQ(daemon_.run({"run", "--once"}).code, 1);
  write_file(daemon_.file("fixed.json"), R"(["good"])");
  const Ran sent = command({"requeue", id, "--payload-file", "fixed.json", "--same-id"});
  EXPECT_EQ(sent.code, 0) << sent.err;
  EXPECT_NE(sent.err.find("keeps its id"), std::string::npos) << sent.err;
  EXPECT_EQ(daemon_.run({"run", "--once"}).code, 0);
  const auto last = stub_.requests().back();
  EXPECT_EQ(last.header("idempotency-key"), id);
  EXPECT_EQ(last.body, R"(["good"])");
  EXPECT_EQ(last.count("replaces"), 0u);
}

TEST_F(DeadLetters, NeverAllByAccident) {
  configure_events();
  send("1", "T", R"(["bad"])");
  EXPECT_EQ(daemon_.run({"run", "--once"}).code, 1);
  for (const std::vector<std::string>& wrong : {std::vector<std::string>{"requeue"},
                                                {"discard", "--reason", "x"},
                                                {"requeue", "--all", "--sink", "events"},
                                                {"requeue", "--payload-file", "x"},
                                                {"requeue", "--same-id", "--all"},
                                                {"requeue", "--sink", "events", "--since", "soon"}}) {
    const Ran ran = command(wrong);
    EXPECT_EQ(ran.code, 2) << wrong.front();
    EXPECT_EQ(lines_of(ran.err).size(), 1u) << ran.err;
  }
  EXPECT_EQ(count("dead"), "1");
}

TEST_F(DeadLetters, WhatBecameOfThemIsKnownAfterTheirTombstones) {
  configure_events();
  const auto dropped = send("1", "T", R"(["bad"])"), old_id = send("2", "T", R"(["bad"])");
  EXPECT_EQ(daemon_.run({"run", "--once"}).code, 1);
  EXPECT_EQ(command({"discard", dropped, "--reason", "order was cancelled", "--actor", "ana"}).code, 0);
  write_file(daemon_.file("fixed.json"), "[]");
  const Ran sent = command({"requeue", old_id, "--payload-file", "fixed.json", "--reason", "typo", "--actor", "ana"});
  ASSERT_EQ(sent.code, 0) << sent.err;
  const std::string new_id = sent.out.substr(0, 36);
  EXPECT_EQ(daemon_.run({"run", "--once"}).code, 0);
  EXPECT_EQ(command({"prune"}).code, 0);
  ASSERT_EQ(database_->value("select count(*) from outbox_delivery"), "0");

  const auto line = [&](const std::string& id) { return command({"show", id}).out; };
  EXPECT_NE(line(dropped).find(" by ana: order was cancelled\n"), std::string::npos) << line(dropped);
  EXPECT_NE(line(old_id).find("replaced by " + new_id + " at "), std::string::npos) << line(old_id);
  EXPECT_NE(line(new_id).find("; in place of " + old_id), std::string::npos) << line(new_id);
  EXPECT_EQ(read({"show", old_id, "--json"})["deliveries"][0]["replaced_by"], new_id);
  EXPECT_EQ(read({"show", new_id, "--json"})["deliveries"][0]["replaces"], old_id);
  EXPECT_TRUE(read({"list", "--state", "sent", "--json"})["deliveries"].empty());
  for (const auto& [id, what] :
       {std::pair(dropped, std::string("was discarded")), {old_id, "was replaced by " + new_id}}) {
    const Ran refused = command({"requeue", id});
    EXPECT_EQ(refused.code, 1);
    EXPECT_NE(refused.err.find(what), std::string::npos) << refused.err;
  }
}

TEST_F(DeadLetters, EachHasItsLineInTheLog) {
  configure_events();
  std::vector<std::string> ids;
  for (int i = 0; i < 50; ++i) ids.push_back(send(std::to_string(i), "T", R"(["bad"])"));
  const Ran once = daemon_.run({"run", "--once"});
  EXPECT_EQ(once.code, 1);
  for (const auto& id : ids) {
    EXPECT_NE(once.err.find("event=\"message is dead\" message=" + id), std::string::npos) << id;
  }
}

TEST_F(DeadLetters, WhatRetentionTakesIsCounted) {
  configure_events("dead_letters: { retain: 1s }\n");
  for (int i = 0; i < 3; ++i) send(std::to_string(i), "T", R"(["bad"])");
  EXPECT_EQ(daemon_.run({"run", "--once"}).code, 1);
  database_->execute("update outbox_delivery set changed_at = changed_at - interval '1 minute'");
  EXPECT_EQ(command({"prune", "--dry-run"}).err, "");
  const Ran pruned = command({"prune"});
  EXPECT_EQ(pruned.code, 0);
  EXPECT_NE(pruned.err.find("sink=events what=\"3 dead letters older than 1s\""), std::string::npos) << pruned.err;
  EXPECT_EQ(database_->value("select action || '|' || sink || '|' || message_id || '|' || reason || '|' || detail from"
                             " outbox_audit"),
            "discarded|events||dead_letters.retain|3 dead letters older than 1s");
  EXPECT_NE(database_->value("select actor from outbox_audit"), "");
}

TEST_F(DeadLetters, AFilterThatCanFitNothingIsAnError) {
  configure_events();
  send("1", "T", R"(["bad"])");
  EXPECT_EQ(daemon_.run({"run", "--once"}).code, 1);
  for (const std::string name : {"list", "requeue", "discard"}) {
    std::vector<std::string> of_nobody{name, "--sink", "invoices"}, of_half{name, "--key", "1"};
    if (name == "discard") {
      for (auto* each : {&of_nobody, &of_half}) each->insert(each->end(), {"--reason", "x"});
    }
    const Ran unknown = command(of_nobody);
    EXPECT_EQ(unknown.code, 2) << name;
    EXPECT_NE(unknown.err.find("no sink 'invoices'; it has events"), std::string::npos) << unknown.err;
    const Ran half = command(of_half);
    EXPECT_EQ(half.code, 2) << name;
    EXPECT_NE(half.err.find("order:4711"), std::string::npos) << half.err;
  }
  EXPECT_EQ(count("dead"), "1");
  HttpStub other;
  configure(http_sink("other", other), "  - { sink: other }\n");
  EXPECT_EQ(read({"list", "--sink", "events", "--json"})["deliveries"].size(), 1u) << "the database knows it still";
}

TEST_F(DeadLetters, SentAndPendingMessagesAreListed) {
  configure_events();
  const auto a = send("1");
  EXPECT_EQ(read({"list", "--state", "pending", "--json"})["deliveries"].size(), 0u) << "no sink has begun";
  EXPECT_EQ(daemon_.run({"run", "--once"}).code, 0);
  const auto b = send("2");
  const auto sent = read({"list", "--state", "sent", "--json"})["deliveries"];
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0]["id"], a);
  const auto pending = read({"list", "--state", "pending", "--key", "order:2", "--json"})["deliveries"];
  ASSERT_EQ(pending.size(), 1u);
  EXPECT_EQ(pending[0]["id"], b);
  EXPECT_NE(command({"show", a}).out.find("sent"), std::string::npos);
  EXPECT_EQ(command({"show", "nobody"}).code, 1);
}

}  // namespace
}  // namespace outbox::test
