#include <algorithm>
#include <atomic>
#include <cstdio>
#include <stdexcept>
#include <thread>
#include <unordered_map>

#include "fault/http_end.h"
#include "fault/numbers.h"
#include "fault/trial.h"
#include "support/eventually.h"
#include "support/services.h"

namespace outbox::test {
namespace {

using namespace std::chrono_literals;

constexpr int kWriters = 2;
constexpr int kPoison = 500;         // the request that it is
constexpr double kCommitted = 0.85;  // of the shop's transactions

struct Traffic {
  double rate = 0;    // arrivals a second
  double p50_ms = 0;  // from the ledger to the arrival
  double p99_ms = 0;
};

void tell(const char* what, const Traffic& traffic) {
  std::printf("%-28s %8.1f messages/s, p50 %6.1f ms, p99 %6.1f ms\n", what, traffic.rate, traffic.p50_ms,
              traffic.p99_ms);
  std::fflush(stdout);
}

class Neighbourhood {
 public:
  explicit Neighbourhood(const NeighbourNumbers& wanted, const std::string& more_sinks = {},
                         const std::string& more_routes = {})
      : wanted_(wanted),
        trial_({.sink = "http",
                .server = find_service(Service::postgresql).value(),
                .keys = 100,
                .more_sinks = more_sinks,
                .more_routes = more_routes,
                .settings = ""}) {}

  // One message among the others is answered by 500 for ever.
  void poison() {
    dynamic_cast<HttpEnd&>(trial_.far_end()).fail_where([this](const std::string& id) {
      if (++asked_ == kPoison) poison_ = id;
      return id == poison_;
    });
  }

  Traffic trade() {
    relay_ = trial_.start_relay();
    const int port = admin_port(*relay_);
    if (!eventually(60s, [&] { return get(port, "/readyz").status == 200; })) {
      throw std::runtime_error("the relay is not ready: " + relay_->standard_error());
    }
    trial_.shop().start(kWriters, static_cast<int>(wanted_.rate / kCommitted / kWriters));
    const std::int64_t began = wall_clock_ms();
    std::this_thread::sleep_for(std::chrono::seconds(wanted_.seconds));
    const std::int64_t ended = wall_clock_ms();
    trial_.shop().stop();
    const auto committed = static_cast<std::int64_t>(trial_.shop().ledger().size());
    eventually(30s, [&] { return trial_.far_end().count() + 1 >= committed; });
    relay_->kill_and_wait();
    std::unordered_map<std::string, PostgresShop::Entry> written;
    for (const auto& entry : trial_.shop().ledger()) written[entry.row.id] = entry;
    // The poisoned key waits, and is left out; without one, another of as many.
    const std::string left_out = poison_.empty() ? "k1" : written[poison_].row.key;
    Traffic traffic;
    std::vector<std::int64_t> took_ms;
    for (const auto& [id, at_ms] : trial_.far_end().arrivals()) {
      const auto& entry = written[id];
      if (entry.row.key == left_out) continue;
      took_ms.push_back(at_ms - entry.at_ms);
      if (at_ms >= began && at_ms < ended) traffic.rate += 1000.0 / static_cast<double>(ended - began);
    }
    std::ranges::sort(took_ms);
    if (took_ms.empty()) throw std::runtime_error("nothing has arrived");
    traffic.p50_ms = static_cast<double>(took_ms[took_ms.size() / 2]);
    traffic.p99_ms = static_cast<double>(took_ms[took_ms.size() * 99 / 100]);
    return traffic;
  }

 private:
  const NeighbourNumbers wanted_;
  int asked_ = 0;
  std::string poison_;  // the stub's threads ask one at a time
  Trial trial_;
  std::unique_ptr<ChildProcess> relay_;
};

Traffic beside(const NeighbourNumbers& wanted, bool hangs) {
  HttpEnd other;
  if (hangs) other.pause();
  return Neighbourhood(wanted, "  other: { " + other.sink(other.port()) + ", from: beginning }\n",
                       "  - { sink: other }\n")
      .trade();
}

}  // namespace

bool measure_poison(const NeighbourNumbers& wanted) {
  const Traffic first = Neighbourhood(wanted).trade();
  tell("without", first);
  Neighbourhood poisoned(wanted);
  poisoned.poison();
  const Traffic with = poisoned.trade();
  tell("with one poison message", with);
  const Traffic second = Neighbourhood(wanted).trade();
  tell("without", second);
  const double least = std::min(first.rate, second.rate) * 0.995;  // keys are not alike to the last message
  std::printf("rate of the other keys: %.1f (limit: the lesser of the two without: %.1f)\n", with.rate, least);
  return with.rate >= least;
}

bool measure_hang(const NeighbourNumbers& wanted) {
  const Traffic usual = beside(wanted, false);
  tell("beside one that answers", usual);
  const Traffic hanging = beside(wanted, true);
  tell("beside one that hangs", hanging);
  std::printf("p99: %.1f ms (limit: twice the usual: %.1f ms)\n", hanging.p99_ms, 2 * usual.p99_ms);
  return hanging.p99_ms <= 2 * usual.p99_ms;
}

}  // namespace outbox::test
