#include <algorithm>
#include <csignal>
#include <cstdio>
#include <random>
#include <stdexcept>
#include <thread>
#include <unordered_map>
#include <unordered_set>

#include "fault/numbers.h"
#include "fault/trial.h"
#include "support/eventually.h"
#include "support/services.h"

namespace outbox::test {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr int kWriters = 4;
constexpr auto kTakeOverMargin = 2s;
constexpr auto kDeadline = 120s;

struct Kill {
  int relay = 0;
  int said = 0;                               // in flight, as it said shortly before
  std::unordered_set<std::string> unsettled;  // committed, and by the stored positions not settled, after its death
  double taken_over_s = 0;
  std::int64_t duplicates = 0;
};

class KillRun {
 public:
  explicit KillRun(const KillNumbers& wanted)
      : wanted_(wanted),
        dice_(wanted.seed),
        total_(static_cast<std::int64_t>(wanted.keys) * wanted.messages_per_key),
        trial_({.sink = wanted.sink,
                .server = find_service(Service::postgresql).value(),
                .keys = wanted.keys,
                .messages_per_key = wanted.messages_per_key,
                .settings = "lease: " + std::to_string(wanted.lease) + "s\n"}) {}

  bool measure() {
    for (int i = 0; i < wanted_.relays; ++i) relays_.push_back(trial_.start_relay());
    if (!eventually(kDeadline, [&] { return trial_.shared(relays_); })) {
      throw std::runtime_error("the relays do not share: " + trial_.told(relays_));
    }
    trade();
    finish();
    return judge();
  }

 private:
  void trade() {
    // Half of the messages come evenly, the other half in transactions just before the kills.
    const int rounds = wanted_.every > 0 ? std::max(wanted_.seconds / wanted_.every, 1) : 0;
    const auto evenly = rounds > 0 ? total_ / 2 : total_;
    trial_.shop().start(kWriters, static_cast<int>(evenly / wanted_.seconds / kWriters + 1), wanted_.seed);
    const auto began = Clock::now();
    for (int i = 1; i <= rounds; ++i) {
      std::this_thread::sleep_until(began + std::chrono::seconds(wanted_.every) * i);
      kill_one(static_cast<int>(total_ / 2 / rounds));
    }
    if (rounds == 0) std::this_thread::sleep_until(began + std::chrono::seconds(wanted_.seconds));
  }

  void kill_one(int burst) {
    Kill kill;
    kill.relay = static_cast<int>(dice_() % relays_.size());
    auto& relay = relays_[static_cast<std::size_t>(kill.relay)];
    const int lanes = trial_.lanes_of(*relay);
    trial_.shop().burst(burst);
    eventually(2s, [&] { return (kill.said = in_flight(*relay).value_or(0)) > 0; });
    if (wanted_.far) {
      relay->signal(SIGSTOP);
    } else {
      relay->kill_and_wait();
    }
    const auto died = Clock::now();
    const std::string owned = "owner like '%:" + std::to_string(relay->pid()) + ":%'";
    for (const auto& row : trial_.database().query(
             "select o.id from outbox o join outbox_position p on o.lane between p.lane and p.lane_to where p." +
             owned +
             " and not coalesce(pg_visible_in_snapshot(o.xid, p.s1), false)"
             " and not (coalesce(pg_visible_in_snapshot(o.xid, p.s2), false) and o.seq <= p.last)"
             " and (o.seq, o.xid) <> all (select * from unnest(p.ahead, p.ahead_xid))")) {
      kill.unsettled.insert(*row[0]);
    }
    const bool taken = eventually(kDeadline, [&] {
      return trial_.database().value("select count(*) from outbox_position where " + owned) == "0";
    });
    if (!taken) throw std::runtime_error("nobody takes over: " + trial_.told(relays_));
    kill.taken_over_s = std::chrono::duration<double>(Clock::now() - died).count();
    std::printf("kill %2zu: relay %d with %d lanes, in flight %d as it said, taken over after %.1f s\n",
                kills_.size() + 1, kill.relay + 1, lanes, kill.said, kill.taken_over_s);
    std::fflush(stdout);
    kills_.push_back(std::move(kill));
    relay->kill_and_wait();
    relay = trial_.start_relay();
  }

  // Each key has its messages, and all have arrived.
  void finish() {
    trial_.shop().stop();
    std::int64_t committed = 0;
    for (int i = 0; i < 1000 && committed < total_; ++i) {
      trial_.shop().burst(static_cast<int>(std::min<std::int64_t>(total_ - committed + wanted_.keys, 5'000)));
      committed = std::stoll(trial_.database().value("select count(*) from ledger"));
    }
    if (!eventually(kDeadline, [&] { return trial_.far_end().count() >= committed; })) {
      throw std::runtime_error("not all arrives: " + trial_.told(relays_));
    }
    for (const auto& relay : relays_) relay->terminate();
    for (const auto& relay : relays_) {
      const auto ended = relay->wait(30s);
      if (!ended || !ended->succeeded()) throw std::runtime_error("a relay does not end: " + relay->standard_error());
    }
  }

  bool judge() {
    const Verdict verdict = trial_.judge();
    bool kept = verdict.faults.empty();
    for (const auto& fault : verdict.faults) std::printf("FAULT: %s\n", fault.c_str());
    std::int64_t unexplained = 0;
    std::unordered_set<std::string> seen;
    for (const auto& [id, at_ms] : verdict.arrivals) {
      if (seen.insert(id).second) continue;
      const auto cause = std::ranges::find_if(kills_, [&](const Kill& kill) { return kill.unsettled.contains(id); });
      if (cause == kills_.end()) {
        ++unexplained;
      } else {
        ++cause->duplicates;
      }
    }
    int with_flight = 0;
    double slowest = 0;
    for (const Kill& kill : kills_) {
      with_flight += kill.said > 0 || kill.duplicates > 0 ? 1 : 0;
      slowest = std::max(slowest, kill.taken_over_s);
      std::printf("kill of relay %d: said in flight %d, not settled %zu, duplicates %lld\n", kill.relay + 1, kill.said,
                  kill.unsettled.size(), static_cast<long long>(kill.duplicates));
    }
    const double limit = wanted_.lease + std::chrono::duration<double>(kTakeOverMargin).count();
    std::printf("%s, %zu kills, %d of them with messages in flight\n%s\n", wanted_.sink.c_str(), kills_.size(),
                with_flight, describe(verdict.findings).c_str());
    std::printf("duplicates that were not in flight at a kill: %lld (limit 0)\n", static_cast<long long>(unexplained));
    if (!kills_.empty()) std::printf("slowest take-over: %.1f s (limit: lease and 2 s: %.1f s)\n", slowest, limit);
    kept = kept && verdict.findings.clean() && verdict.findings.committed == total_ && unexplained == 0 &&
           slowest <= limit;
    return kept;
  }

  const KillNumbers wanted_;
  std::mt19937_64 dice_;
  const std::int64_t total_;
  Trial trial_;
  Relays relays_;
  std::vector<Kill> kills_;
};

}  // namespace

bool measure_kills(const KillNumbers& wanted) { return KillRun(wanted).measure(); }

}  // namespace outbox::test
