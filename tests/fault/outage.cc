#include <algorithm>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <thread>

#include <unistd.h>

#include "fault/numbers.h"
#include "fault/trial.h"
#include "support/eventually.h"
#include "support/services.h"

namespace outbox::test {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr double kRssLimit = 64;
constexpr double kCpuLimit = 2;

double cpu_seconds(pid_t process) {
  const std::string stat = read_file("/proc/" + std::to_string(process) + "/stat");
  std::istringstream fields(stat.substr(stat.rfind(')') + 2));
  std::string skipped;
  for (int i = 0; i < 11; ++i) fields >> skipped;
  double user = 0;
  double system = 0;
  fields >> user >> system;
  return (user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

double megabytes(pid_t process, const std::string& name) {
  for (const auto& line : lines_of(read_file("/proc/" + std::to_string(process) + "/status"))) {
    if (line.starts_with(name + ":")) return std::stod(line.substr(name.size() + 1)) / 1024;
  }
  return 0;
}

// Tries that a back-off allows in so many seconds.
double steps(const Backoff& backoff, double seconds) {
  double count = 1;
  double wait = backoff.first_s;
  for (double at = wait; at <= seconds; at += wait) {
    ++count;
    wait = std::min(wait * 2, backoff.cap_s);
  }
  return count;
}

bool tell(const char* what, double value, double limit, const char* unit) {
  std::printf("%-46s %10.2f %s (limit %g)%s\n", what, value, unit, limit, value <= limit ? "" : "  NOT KEPT");
  std::fflush(stdout);
  return value <= limit;
}

class OutageRun {
 public:
  explicit OutageRun(const OutageNumbers& wanted)
      : wanted_(wanted),
        trial_({.sink = wanted.sink,
                .server = find_service(Service::postgresql).value(),
                .proxies = true,
                .keys = 1000,
                .settings = ""}) {}

  bool measure() {
    enqueue();
    relay_ = trial_.start_relay();
    await_all();
    trial_.sink_link().set({.turn_away = true});
    trial_.sink_link().cut();
    away_since_ = Clock::now();
    const auto attempts_before = trial_.sink_link().attempts().size();
    enqueue();
    bool kept = stay_away(attempts_before);
    trial_.sink_link().set({});
    await_all();
    kept = finish() && kept;
    return kept;
  }

 private:
  void enqueue() {
    for (int left = wanted_.rows; left > 0; left -= 10'000) trial_.shop().burst(std::min(left, 10'000));
    enqueued_ += wanted_.rows;
  }

  void await_all() {
    if (!eventually(900s, [&] { return trial_.far_end().count() >= enqueued_; })) {
      throw std::runtime_error("not all arrives: " + relay_->standard_error());
    }
  }

  // Messages a second from the first to the last of as many arrivals as there were rows.
  double rate(const std::vector<Arrival>& arrivals, std::ptrdiff_t from) const {
    const double took = static_cast<double>(arrivals[static_cast<std::size_t>(from + wanted_.rows - 1)].at_ms -
                                            arrivals[static_cast<std::size_t>(from)].at_ms);
    return wanted_.rows * 1000.0 / std::max(took, 1.0);
  }

  bool stay_away(std::size_t attempts_before) {
    std::printf("%d rows wait; the broker is away for %.1f minutes\n", wanted_.rows, wanted_.minutes);
    const double cpu = cpu_seconds(relay_->pid());
    const auto began = Clock::now();
    const auto end = began + std::chrono::milliseconds(static_cast<std::int64_t>(wanted_.minutes * 60'000));
    double resident = 0;
    while (Clock::now() < end) {
      resident = std::max(resident, megabytes(relay_->pid(), "VmRSS"));
      std::this_thread::sleep_until(std::min(Clock::now() + 1s, end));
    }
    const double seconds = std::chrono::duration<double>(Clock::now() - began).count();
    bool kept = tell("CPU of the relay", (cpu_seconds(relay_->pid()) - cpu) / seconds * 100, kCpuLimit, "% of a core");
    kept = tell("RSS of the relay", resident, kRssLimit, "MB") && kept;
    const auto attempts = trial_.sink_link().attempts();
    const auto made = static_cast<double>(attempts.size() - attempts_before);
    const double away = std::chrono::duration<double>(Clock::now() - away_since_).count();
    kept = tell("connections tried, one a step of the back-off", made, steps(trial_.far_end().backoff(), away), "") &&
           kept;
    std::printf("  seconds between them:");
    for (std::size_t i = attempts_before + 1; i < attempts.size(); ++i) {
      std::printf(" %.1f", std::chrono::duration<double>(attempts[i] - attempts[i - 1]).count());
    }
    std::printf("\n  ready meanwhile: %d\n", get(admin_port(*relay_), "/readyz").status);
    const auto count = [&](const char* sql) { return std::stod(trial_.database().value(sql)); };
    kept = tell("dead", count("select count(*) from outbox_delivery where state = 'dead'"), 0, "") && kept;
    return tell("attempts used", count("select coalesce(max(attempts), 0) from outbox_delivery"), 0, "") && kept;
  }

  bool finish() {
    const bool small = tell("RSS at its greatest, drain included", megabytes(relay_->pid(), "VmHWM"), kRssLimit, "MB");
    relay_->terminate();
    relay_->wait(30s);
    Verdict verdict = trial_.judge();
    if (static_cast<std::int64_t>(verdict.arrivals.size()) == enqueued_) {
      std::ranges::stable_sort(verdict.arrivals, {}, &Arrival::at_ms);
      std::printf("drained at %.0f messages/s; as many rows before the outage: %.0f messages/s\n",
                  rate(verdict.arrivals, wanted_.rows), rate(verdict.arrivals, 0));
    }
    for (const auto& fault : verdict.faults) std::printf("FAULT: %s\n", fault.c_str());
    std::printf("%s\n", describe(verdict.findings).c_str());
    return small && verdict.faults.empty();
  }

  const OutageNumbers wanted_;
  Trial trial_;
  std::unique_ptr<ChildProcess> relay_;
  std::int64_t enqueued_ = 0;
  Clock::time_point away_since_;
};

}  // namespace

bool measure_outage(const OutageNumbers& wanted) { return OutageRun(wanted).measure(); }

}  // namespace outbox::test
