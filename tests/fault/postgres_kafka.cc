#include "fault/postgres_kafka.h"

#include <algorithm>
#include <unordered_map>

#include "support/eventually.h"

namespace outbox::test {

using namespace std::chrono_literals;

void PostgresKafka::SetUp() {
  OUTBOX_REQUIRE_SERVICE(server, GetParam());
  OUTBOX_REQUIRE_SERVICE(brokers, Service::kafka);
  brokers_ = brokers;
  database_ = std::make_unique<PostgresDatabase>(server);
  std::string url = database_->url();
  if (through_) {
    OUTBOX_REQUIRE_SERVICE(pooler, *through_);
    url = pooler.substr(0, pooler.rfind('/')) + url.substr(url.rfind('/'));
  }
  // The time of a message is when the broker appended it.
  topic_ = std::make_unique<KafkaTopic>(
      brokers, "fault", 4, std::map<std::string, std::string>{{"message.timestamp.type", "LogAppendTime"}});
  daemon_.configure("database: \"" + url + "\"\nsinks:\n  events: { type: kafka, brokers: [ \"" + brokers +
                    "\" ], from: beginning }\nroutes:\n  - { sink: events, topic: \"" + topic_->name() +
                    "\" }\nadmin: { listen: \"127.0.0.1:0\" }\n" +
                    "breaker: { failures: 5, open: 100ms, cap: 500ms }\nretry: { base: 20ms, cap: 200ms }\n" +
                    more_options_);
  const Ran init = daemon_.run({"init"});
  ASSERT_EQ(init.code, 0) << init.err;
  shop_ = std::make_unique<PostgresShop>(*database_, 40);
}

std::int64_t PostgresKafka::now_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

std::unique_ptr<ChildProcess> PostgresKafka::start_relay(const std::vector<std::string>& before) {
  lives_.push_back({now_ms(), 0});
  return daemon_.start({}, {}, before);
}

void PostgresKafka::kill(ChildProcess& relay) {
  relay.kill_and_wait();
  note_death();
}

void PostgresKafka::trade_in_peace() {
  auto relay = start_relay();
  const auto port = admin_port(*relay);
  EXPECT_TRUE(eventually(30s, [&] { return get(port, "/readyz").status == 200; })) << relay->standard_error();
  peace_ms_ = now_ms();
  const auto answered = shop_->answered();
  EXPECT_TRUE(eventually(60s, [&] { return shop_->answered() > answered + 500; }));
  relay->terminate();
  const auto ended = relay->wait(30s);
  EXPECT_TRUE(ended && ended->succeeded()) << relay->standard_error();
}

PostgresKafka::Judgement PostgresKafka::drain() {
  shop_->stop();
  lives_.push_back({now_ms(), 0});
  const Ran once = daemon_.run_once();
  EXPECT_EQ(once.code, 0) << once.err;

  Judgement judgement{{}, topic_->read(), shop_->ledger()};
  const auto& [findings, arrivals, ledger] = judgement;
  Evidence evidence;
  for (const auto& entry : ledger) evidence.committed.push_back(entry.row);
  for (const auto& message : arrivals) evidence.arrived.push_back(message.header("message-id"));
  evidence.rolled_back = shop_->rolled_back();
  evidence.dead = shop_->dead_letters();
  judgement.findings = check(evidence);
  for (const auto& fault : findings.faults) ADD_FAILURE() << fault;
  EXPECT_TRUE(findings.clean());
  EXPECT_GT(findings.committed, 0);
  EXPECT_EQ(findings.delivered, findings.committed);
  EXPECT_EQ(findings.dead, 0);
  std::printf("committed %ld, rolled back %ld, delivered %ld, duplicates %ld, lost %ld, ghosts %ld, out of order %ld\n",
              static_cast<long>(findings.committed), static_cast<long>(findings.rolled_back),
              static_cast<long>(findings.delivered), static_cast<long>(findings.duplicates),
              static_cast<long>(findings.lost), static_cast<long>(findings.ghosts),
              static_cast<long>(findings.out_of_order));
  return judgement;
}

int PostgresKafka::drain_and_judge() {
  const Judgement judgement = drain();
  expect_single(judgement.arrivals, judgement.ledger);
  return tell_of_kills(judgement.arrivals, judgement.ledger);
}

void PostgresKafka::expect_single(const std::vector<KafkaMessage>& arrivals,
                                  const std::vector<PostgresShop::Entry>& ledger) const {
  if (peace_ms_ == 0) return;
  std::unordered_map<std::string, int> times;
  for (const KafkaMessage& message : arrivals) ++times[message.header("message-id")];
  for (const auto& entry : ledger) {
    if (entry.at_ms <= peace_ms_) continue;
    EXPECT_EQ(times[entry.row.id], 1) << entry.row.id << ": nothing had happened to the relay";
  }
}

int PostgresKafka::tell_of_kills(const std::vector<KafkaMessage>& arrivals,
                                 const std::vector<PostgresShop::Entry>& ledger) const {
  struct Count {
    int first = 0;     // arrivals that nobody had seen
    int repeated = 0;  // of this life's arrivals, came again later: they were sent and not settled
    int unsent = 0;    // committed before the kill, arrived only later
  };
  const auto life_of = [&](std::int64_t at_ms) {
    const auto next = std::upper_bound(lives_.begin(), lives_.end(), at_ms,
                                       [](std::int64_t at, const Life& life) { return at < life.started_ms; });
    return static_cast<std::size_t>(std::max<std::ptrdiff_t>(next - lives_.begin() - 1, 0));
  };
  std::vector<Count> counts(lives_.size());
  std::unordered_map<std::string, std::size_t> first_life;  // of a message
  std::unordered_map<std::string, std::size_t> last_life;
  for (const KafkaMessage& message : arrivals) {
    const std::string id = message.header("message-id");
    const auto life = life_of(message.timestamp_ms);
    const auto before = last_life.find(id);
    if (before == last_life.end()) {
      first_life[id] = life;
      ++counts[life].first;
    } else {
      ++counts[before->second].repeated;
    }
    last_life[id] = life;
  }
  for (const auto& entry : ledger) {
    const auto arrived = first_life.find(entry.row.id);
    for (auto life = life_of(entry.at_ms); arrived != first_life.end() && life < arrived->second; ++life) {
      if (entry.at_ms < lives_[life].killed_ms) ++counts[life].unsent;
    }
  }
  int in_flight = 0;
  for (std::size_t i = 0; i + 1 < lives_.size(); ++i) {
    const Count& count = counts[i];
    if (lives_[i].killed_ms == 0) continue;
    if (count.first + count.repeated > 0 && count.repeated + count.unsent > 0) ++in_flight;
    std::printf(
        "kill %zu after %ld ms: %d delivered, in flight: %d sent and not settled (they came again), "
        "%d committed and not sent\n",
        i + 1, static_cast<long>(lives_[i].killed_ms - lives_[i].started_ms), count.first, count.repeated,
        count.unsent);
  }
  return in_flight;
}

}  // namespace outbox::test
