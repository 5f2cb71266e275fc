#include "fault/postgres_kafka.h"

#include <algorithm>
#include <unordered_map>

#include "support/eventually.h"

namespace outbox::test {

using namespace std::chrono_literals;

void PostgresKafka::SetUp() {
  OUTBOX_REQUIRE_SERVICE(server, GetParam());
  OUTBOX_REQUIRE_SERVICE(brokers, Service::kafka);
  TrialOptions options;
  options.server = server;
  if (through_) {
    OUTBOX_REQUIRE_SERVICE(pooler, *through_);
    options.pooler = pooler;
  }
  options.settings += more_options_;
  trial_ = std::make_unique<Trial>(options);
}

std::unique_ptr<ChildProcess> PostgresKafka::start_relay(const std::vector<std::string>& before) {
  lives_.push_back({wall_clock_ms(), 0});
  return trial_->start_relay(before);
}

void PostgresKafka::kill(ChildProcess& relay) {
  relay.kill_and_wait();
  note_death();
}

void PostgresKafka::trade_in_peace() {
  auto relay = start_relay();
  const auto port = admin_port(*relay);
  EXPECT_TRUE(eventually(30s, [&] { return get(port, "/readyz").status == 200; })) << relay->standard_error();
  peace_ms_ = wall_clock_ms();
  const auto answered = shop().answered();
  EXPECT_TRUE(eventually(60s, [&] { return shop().answered() > answered + 500; }));
  relay->terminate();
  const auto ended = relay->wait(30s);
  EXPECT_TRUE(ended && ended->succeeded()) << relay->standard_error();
}

Verdict PostgresKafka::drain() {
  lives_.push_back({wall_clock_ms(), 0});
  Verdict verdict = trial_->judge();
  for (const auto& fault : verdict.faults) ADD_FAILURE() << fault;
  EXPECT_TRUE(verdict.findings.clean());
  EXPECT_EQ(verdict.findings.delivered, verdict.findings.committed);
  EXPECT_EQ(verdict.findings.dead, 0);
  std::printf("%s\n", describe(verdict.findings).c_str());
  return verdict;
}

int PostgresKafka::drain_and_judge() {
  const Verdict verdict = drain();
  expect_single(verdict);
  return tell_of_kills(verdict);
}

void PostgresKafka::expect_single(const Verdict& verdict) const {
  if (peace_ms_ == 0) return;
  std::unordered_map<std::string, int> times;
  for (const Arrival& arrival : verdict.arrivals) ++times[arrival.id];
  for (const auto& entry : verdict.ledger) {
    if (entry.at_ms <= peace_ms_) continue;
    EXPECT_EQ(times[entry.row.id], 1) << entry.row.id << ": nothing had happened to the relay";
  }
}

int PostgresKafka::tell_of_kills(const Verdict& verdict) const {
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
  for (const auto& [id, at_ms] : verdict.arrivals) {
    const auto life = life_of(at_ms);
    const auto before = last_life.find(id);
    if (before == last_life.end()) {
      first_life[id] = life;
      ++counts[life].first;
    } else {
      ++counts[before->second].repeated;
    }
    last_life[id] = life;
  }
  for (const auto& entry : verdict.ledger) {
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
