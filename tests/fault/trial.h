// A trial: an application on PostgreSQL, real relays, and a far end, with a proxy between them where it is wanted; and
// the verdict. It knows no test framework, so that long runs by hand are made of the same parts.
//
// One thread. Every function throws std::runtime_error where the trial itself cannot go on.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "app/checker.h"
#include "fault/far_end.h"
#include "fault/postgres_shop.h"
#include "support/daemon.h"
#include "support/fault_proxy.h"

namespace outbox::test {

struct TrialOptions {
  std::string sink = "kafka";  // as in make_far_end()
  std::string server;          // the database server's URL
  std::string pooler = {};     // the URL of one between the relays and the database
  bool proxies = false;        // on the ways to the sink and to the database
  int keys = 40;
  int messages_per_key = 0;     // and no more; 0: no limit
  std::string more_sinks = {};  // lines of the configuration
  std::string more_routes = {};
  std::string settings = "breaker: { failures: 5, open: 100ms, cap: 500ms }\nretry: { base: 20ms, cap: 200ms }\n";
};

struct Verdict {
  Findings findings;
  std::vector<Arrival> arrivals;
  std::vector<PostgresShop::Entry> ledger;
  std::vector<std::string> faults;  // the checker's, and what else must not be; none: passed
};

using Relays = std::vector<std::unique_ptr<ChildProcess>>;

class Trial {
 public:
  explicit Trial(const TrialOptions& options);

  PostgresDatabase& database() { return database_; }
  FarEnd& far_end() { return *far_end_; }
  PostgresShop& shop() { return *shop_; }
  const Daemon& daemon() const { return daemon_; }
  FaultProxy& sink_link() { return *sink_link_; }  // only with proxies
  FaultProxy& database_link() { return *database_link_; }

  std::unique_ptr<ChildProcess> start_relay(const std::vector<std::string>& before = {}) const;

  // Lanes that a living relay has; and whether these relays have all of them, each at least a quarter of a fair part.
  int lanes_of(const ChildProcess& relay);
  bool shared(const Relays& relays);
  // Who has what, and what the relays have logged.
  std::string told(const Relays& relays);

  // Stops the shop, delivers the rest with `run --once` (no relay may run), and lets the checker judge.
  Verdict judge();

 private:
  void make_links();
  void configure(const TrialOptions& options);

  PostgresDatabase database_;
  std::unique_ptr<FarEnd> far_end_;
  std::unique_ptr<FaultProxy> sink_link_;
  std::unique_ptr<FaultProxy> database_link_;
  Daemon daemon_;
  std::unique_ptr<PostgresShop> shop_;
};

// What of its sinks is handed over and not settled, as a relay says; nothing if it does not say.
std::optional<int> in_flight(const ChildProcess& relay);

// "committed 100, rolled back 10, …"
std::string describe(const Findings& findings);

}  // namespace outbox::test
