// Copies of dead letters, sent to a sink of their own by a daemon that runs. docs/guide/dead-letters.md names these
// tests.
#include <algorithm>
#include <atomic>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "integration/daemon_fixture.h"

namespace outbox::test {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;

constexpr const char* kToGraveyard =
    "dead_letters: { forward: { sink: graveyard } }\nretry: { base: 10ms, cap: 50ms }\n";

class Forwarding : public DaemonTest {
 protected:
  // What is "bad" dies of 422.
  void configure_with(const std::string& graveyard) {
    shop_.set_script([](const StubRequest& request) {
      const bool bad = request.body.find("bad") != std::string::npos;
      return StubReply{bad ? 422 : 200, {}, bad ? "no such street" : ""};
    });
    configure(http_sink("events", shop_) + graveyard, "  - { sink: events, owner: billing }\n", kToGraveyard);
  }
  std::string send_bad(const std::string& key) { return send(key, "T", R"({"street":"bad"})"); }
  std::vector<json> lines(const std::string& name) const {
    std::vector<json> found;
    if (!std::filesystem::exists(daemon_.file(name))) return found;
    for (const auto& line : lines_of(read_file(daemon_.file(name)))) found.push_back(json::parse(line));
    return found;
  }
  bool wait_for_lines(const std::string& name, std::size_t count) {
    return eventually(60s, [&] { return lines(name).size() == count; });
  }
  bool wait_until_marked(const std::string& count) {
    return eventually(60s, [&] {
      return database_->value("select count(*) from outbox_delivery where state = 'dead' and forwarded = changed_at") ==
             count;
    });
  }

  static int lines_with(const std::string& log, const std::string& what) {
    const auto lines = lines_of(log);
    return static_cast<int>(std::ranges::count_if(
        lines, [&](const auto& line) { return std::string_view(line).find(what) != std::string_view::npos; }));
  }

  HttpStub shop_;
  HttpStub graveyard_;
};

TEST_F(Forwarding, ADeadLetterIsForwardedOnceAndStaysOne) {
  configure_with("  graveyard: { type: file, path: graveyard.jsonl }\n");
  auto relay = daemon_.start();
  const auto first = send_bad("1");
  send("2");
  ASSERT_TRUE(wait_for_lines("graveyard.jsonl", 1)) << relay->standard_error();
  const json copy = lines("graveyard.jsonl").front();
  EXPECT_EQ(copy["id"], first);
  EXPECT_EQ(copy["aggregate_id"], "1");
  EXPECT_EQ(copy["payload"]["street"], "bad");
  EXPECT_EQ(copy["headers"]["dead-letter-sink"], "events");
  EXPECT_EQ(copy["headers"]["dead-letter-reason"], "http_422");
  EXPECT_NE(copy["headers"]["dead-letter-error"].get<std::string>().find("no such street"), std::string::npos);
  EXPECT_EQ(copy["headers"]["dead-letter-attempts"], "1");
  EXPECT_EQ(copy["headers"]["dead-letter-owner"], "billing");
  EXPECT_FALSE(copy["headers"]["dead-letter-at"].get<std::string>().empty());
  ASSERT_TRUE(wait_until_marked("1"));
  const std::string metrics = get(admin_port(*relay), "/metrics").body;
  EXPECT_EQ(sample(metrics, R"(outbox_dead_letters_forwarded_total{outcome="delivered",sink="graveyard"})"), "1");
  EXPECT_EQ(stop(*relay), 0) << relay->standard_error();

  // A restart forwards what was not, and nothing again.
  const auto second = send_bad("3");
  relay = daemon_.start();
  ASSERT_TRUE(wait_for_lines("graveyard.jsonl", 2)) << relay->standard_error();
  EXPECT_EQ(lines("graveyard.jsonl").back()["id"], second);
  ASSERT_TRUE(wait_until_marked("2"));
  EXPECT_EQ(state_of(first), "dead");

  // What is sent again and dies again is forwarded again.
  EXPECT_EQ(daemon_.run({"requeue", first}).code, 0);
  ASSERT_TRUE(wait_for_lines("graveyard.jsonl", 3)) << relay->standard_error();
  EXPECT_EQ(lines("graveyard.jsonl").back()["id"], first);
  EXPECT_EQ(stop(*relay), 0) << relay->standard_error();
}

// B115: a refusal of 300 KB, in characters of several bytes, in a header of the copy.
TEST_F(Forwarding, ALongErrorIsCutAndForwardedAtTheFirstTry) {
  configure_with(http_sink("graveyard", graveyard_));
  shop_.set_script([](const StubRequest&) {
    StubReply reply{422};
    while (reply.body.size() < 300'000) reply.body += "ä€😀x";
    return reply;
  });
  auto relay = daemon_.start();
  send("1");
  ASSERT_TRUE(wait_until_marked("1")) << relay->standard_error();
  EXPECT_EQ(stop(*relay), 0) << relay->standard_error();
  EXPECT_EQ(shop_.request_count(), 1u);
  ASSERT_EQ(graveyard_.request_count(), 1u);
  const std::string error = graveyard_.requests().at(0).header("dead-letter-error");
  EXPECT_NE(error.find("ä€😀x"), std::string::npos) << error;
  EXPECT_LE(error.size(), 1024u);
  EXPECT_NO_THROW(static_cast<void>(json(error).dump())) << "it is cut between characters";
}

// Killed when the copy has arrived and is not remembered: it comes twice, and is not lost.
TEST_F(Forwarding, AKillBetweenCopyAndMarkCostsADuplicate) {
  configure_with(http_sink("graveyard", graveyard_));
  std::atomic<bool> hanging = true;
  graveyard_.set_script([&](const StubRequest&) {
    StubReply reply;
    if (hanging) reply.manner = StubReply::Manner::hang;
    return reply;
  });
  auto relay = daemon_.start();
  const auto id = send_bad("1");
  ASSERT_TRUE(graveyard_.wait_for_requests(1)) << relay->standard_error();
  relay->kill_and_wait();
  EXPECT_EQ(state_of(id), "dead");
  hanging = false;
  graveyard_.release();
  relay = daemon_.start();
  ASSERT_TRUE(graveyard_.wait_for_requests(2)) << relay->standard_error();
  EXPECT_EQ(ids_of(graveyard_.requests()), (std::vector<std::string>{id, id}));
  ASSERT_TRUE(wait_until_marked("1"));
  EXPECT_EQ(stop(*relay), 0) << relay->standard_error();
}

TEST_F(Forwarding, WaitsForItsSinkAndSkipsWhatThatRefusesForGood) {
  configure_with(http_sink("graveyard", graveyard_));
  graveyard_.set_script(
      [](const StubRequest& request) { return StubReply{request.header("aggregate-id") == "refused" ? 413 : 200}; });
  graveyard_.go_down();
  auto relay = daemon_.start();
  const auto refused = send_bad("refused");
  send_bad("2");
  ASSERT_TRUE(eventually(60s, [&] { return count("dead") == "2"; })) << relay->standard_error();
  EXPECT_EQ(database_->value("select count(*) from outbox_delivery where forwarded is not null"), "0");
  graveyard_.come_up();
  ASSERT_TRUE(wait_until_marked("2")) << relay->standard_error();
  EXPECT_EQ(state_of(refused), "dead");
  EXPECT_EQ(database_->value("select message_id from outbox_delivery where forward_refusal like 'http_413%'"), refused);
  EXPECT_NE(relay->standard_error().find("the copy of a dead letter was refused"), std::string::npos);

  // It is not tried again.
  send_bad("3");
  ASSERT_TRUE(wait_until_marked("3"));
  const auto ids = ids_of(graveyard_.requests());
  EXPECT_EQ(std::count(ids.begin(), ids.end(), refused), 1);
  const std::string metrics = get(admin_port(*relay), "/metrics").body;
  EXPECT_EQ(sample(metrics, R"(outbox_dead_letters_forwarded_total{outcome="refused",sink="graveyard"})"), "1");
  EXPECT_EQ(sample(metrics, R"(outbox_dead_letters_forwarded_total{outcome="delivered",sink="graveyard"})"), "2");
  EXPECT_EQ(stop(*relay), 0) << relay->standard_error();
}

TEST_F(Forwarding, ASinkThatTakesNoCopiesIsSaidOnce) {
  configure_with(http_sink("graveyard", graveyard_));
  graveyard_.go_down();
  auto relay = daemon_.start();
  const int port = admin_port(*relay);
  const std::string open = R"(outbox_breaker_state{sink="graveyard",state="open"})";
  for (int i = 0; i < 5; ++i) send_bad(std::to_string(i));
  ASSERT_TRUE(eventually(60s, [&] { return sample(get(port, "/metrics").body, open) == "1"; }))
      << relay->standard_error();
  const auto ready = get(port, "/readyz");
  EXPECT_EQ(ready.status, 503);
  EXPECT_NE(ready.body.find("sink graveyard: breaker open: "), std::string::npos) << ready.body;
  EXPECT_NE(sample(get(port, "/metrics").body, R"(outbox_attempts_total{outcome="busy",sink="graveyard"})"), "0");
  EXPECT_TRUE(eventually(60s, [&] {
    const std::string status = daemon_.run({"status"}).out;
    const auto line = status.find("\ngraveyard            open ");
    return line != std::string::npos && status.find("connect", line) != std::string::npos;
  })) << daemon_.run({"status"}).out;

  graveyard_.come_up();
  ASSERT_TRUE(wait_until_marked("5")) << relay->standard_error();
  EXPECT_TRUE(eventually(60s, [&] { return get(port, "/readyz").status == 200; })) << get(port, "/readyz").body;
  EXPECT_EQ(sample(get(port, "/metrics").body, open), "0");
  EXPECT_EQ(stop(*relay), 0);
  EXPECT_EQ(lines_with(relay->standard_error(), "copies of dead letters wait: their sink"), 1)
      << relay->standard_error();
  EXPECT_EQ(lines_with(relay->standard_error(), "copies of dead letters wait no more"), 1);
}

TEST_F(Forwarding, APausedSinkIsSaid) {
  configure_with(http_sink("graveyard", graveyard_));
  auto relay = daemon_.start();
  const int port = admin_port(*relay);
  ASSERT_EQ(daemon_.run({"pause", "graveyard", "--reason", "their maintenance", "--actor", "ana"}).code, 0);
  const std::string paused = R"(outbox_paused{sink="graveyard"})";
  const auto says_why = [&] {
    return get(port, "/readyz").body.find("sink graveyard: held: paused by ana since ") != std::string::npos;
  };
  EXPECT_TRUE(eventually(60s, says_why)) << get(port, "/readyz").body;
  EXPECT_TRUE(eventually(60s, [&] { return sample(get(port, "/metrics").body, paused) == "1"; }));
  const std::string status = daemon_.run({"status"}).out;
  const auto line = status.find("\ngraveyard ");
  ASSERT_NE(line, std::string::npos) << status;
  EXPECT_NE(status.find("paused by ana", line), std::string::npos) << status;

  ASSERT_EQ(daemon_.run({"resume", "graveyard"}).code, 0);
  EXPECT_TRUE(eventually(60s, [&] { return get(port, "/readyz").status == 200; })) << get(port, "/readyz").body;
  EXPECT_TRUE(eventually(60s, [&] { return sample(get(port, "/metrics").body, paused) == "0"; }));
  EXPECT_EQ(stop(*relay), 0) << relay->standard_error();
}

TEST_F(Forwarding, OneOfSeveralRelaysForwardsAndAnotherTakesOver) {
  configure_with(http_sink("graveyard", graveyard_));
  auto one = daemon_.start();
  auto other = daemon_.start();
  for (int i = 0; i < 50; ++i) send_bad(std::to_string(i % 10));
  ASSERT_TRUE(wait_until_marked("50")) << one->standard_error() << other->standard_error();
  EXPECT_EQ(graveyard_.request_count(), 50u);
  const auto forwards = [](const ChildProcess& relay) {
    return relay.standard_error().find("forwarding dead letters") != std::string::npos;
  };
  EXPECT_NE(forwards(*one), forwards(*other));
  auto& busy = forwards(*one) ? *one : *other;
  auto& idle = forwards(*one) ? *other : *one;
  busy.kill_and_wait();
  send_bad("K");
  ASSERT_TRUE(wait_until_marked("51")) << idle.standard_error();
  EXPECT_TRUE(forwards(idle));
  EXPECT_EQ(stop(idle), 0) << idle.standard_error();
}

TEST_F(Forwarding, AFileThatRoutesNameCannotBeItsSink) {
  configure("  audit: { type: file, path: audit.jsonl }\n", "  - { sink: audit }\n",
            "dead_letters: { forward: { sink: audit } }\n");
  const Ran ran = daemon_.run({"run"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_NE(ran.err.find("a sink of their own"), std::string::npos) << ran.err;
}

}  // namespace
}  // namespace outbox::test
