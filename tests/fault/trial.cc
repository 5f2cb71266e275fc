#include "fault/trial.h"

#include <stdexcept>

namespace outbox::test {

Trial::Trial(const TrialOptions& options) : database_(options.server), far_end_(make_far_end(options.sink)) {
  if (options.proxies) make_links();
  configure(options);
  const Ran init = daemon_.run({"init"});
  if (init.code != 0) throw std::runtime_error("outboxd init: " + init.err);
  shop_ = std::make_unique<PostgresShop>(database_, options.keys, options.messages_per_key);
}

void Trial::make_links() {
  sink_link_ = std::make_unique<FaultProxy>(far_end_->target_port(), far_end_->proxy_port());
  database_link_ = std::make_unique<FaultProxy>(port_in(database_.url()));
}

void Trial::configure(const TrialOptions& options) {
  std::string url = database_.url();
  if (!options.pooler.empty()) url = options.pooler.substr(0, options.pooler.rfind('/')) + url.substr(url.rfind('/'));
  if (database_link_) url = with_port(url, database_link_->port());
  const int port = sink_link_ ? sink_link_->port() : far_end_->port();
  daemon_.configure("database: \"" + url + "\"\nsinks:\n  events: { " + far_end_->sink(port) + ", from: beginning }\n" +
                    options.more_sinks + "routes:\n  - { sink: events" + far_end_->route() + " }\n" +
                    options.more_routes + "admin: { listen: \"127.0.0.1:0\" }\n" + options.settings);
}

std::unique_ptr<ChildProcess> Trial::start_relay(const std::vector<std::string>& before) const {
  return daemon_.start({}, {}, before);
}

int Trial::lanes_of(const ChildProcess& relay) {
  return std::stoi(
      database_.value("select coalesce(sum(p.lane_to - p.lane + 1), 0) from outbox_position p join outbox_lease l "
                      "on l.relay = p.owner"
                      " and l.feed = p.sink and l.until > clock_timestamp() where p.owner like '%:" +
                      std::to_string(relay.pid()) + ":%'"));
}

bool Trial::shared(const Relays& relays) {
  int sum = 0;
  for (const auto& relay : relays) {
    const int lanes = lanes_of(*relay);
    if (lanes < 16 / static_cast<int>(relays.size())) return false;
    sum += lanes;
  }
  return sum == 64;
}

std::string Trial::told(const Relays& relays) {
  std::string all =
      database_.value("select string_agg(format('%s-%s %s', lane, lane_to, owner), E'\n') from outbox_position");
  for (const auto& relay : relays) all += "\n---\n" + relay->standard_error();
  return all;
}

Verdict Trial::judge() {
  shop_->stop();
  const Ran once = daemon_.run_once();

  Verdict verdict{{}, far_end_->arrivals(), shop_->ledger(), {}};
  Evidence evidence;
  for (const auto& entry : verdict.ledger) evidence.committed.push_back(entry.row);
  for (const auto& arrival : verdict.arrivals) evidence.arrived.push_back(arrival.id);
  evidence.rolled_back = shop_->rolled_back();
  evidence.dead = shop_->dead_letters();
  verdict.findings = check(evidence);
  verdict.faults = verdict.findings.faults;
  const auto& findings = verdict.findings;
  if (findings.committed == 0) verdict.faults.emplace_back("nothing was committed");
  // It ends with 1 where something is dead; the checker has seen to the rest.
  if (once.code != 0 && (once.code != 1 || findings.dead == 0)) verdict.faults.push_back("run --once: " + once.err);
  return verdict;
}

std::optional<int> in_flight(const ChildProcess& relay) {
  const std::string before = "event=\"admin address open\" listen=127.0.0.1:";
  const std::string log = relay.standard_error();
  const auto found = log.find(before);
  if (found == std::string::npos) return {};
  std::optional<int> sum;
  for (const std::string& line : lines_of(get(std::stoi(log.substr(found + before.size())), "/metrics").body)) {
    if (line.starts_with("outbox_in_flight{")) sum = sum.value_or(0) + std::stoi(line.substr(line.rfind(' ')));
  }
  return sum;
}

std::string describe(const Findings& findings) {
  std::string text;
  const auto add = [&](const char* name, std::int64_t count) {
    text += (text.empty() ? "" : ", ") + std::string(name) + " " + std::to_string(count);
  };
  add("committed", findings.committed);
  add("rolled back", findings.rolled_back);
  add("delivered", findings.delivered);
  add("duplicates", findings.duplicates);
  add("dead", findings.dead);
  add("lost", findings.lost);
  add("ghosts", findings.ghosts);
  add("out of order", findings.out_of_order);
  return text;
}

}  // namespace outbox::test
