#include "app/demo.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <set>

#include "admin/sink_report.h"
#include "db/sqlite.h"
#include "store/sqlite/sqlite_store.h"

namespace outbox::app {

using std::chrono::steady_clock;

namespace {

constexpr auto kTurn = std::chrono::milliseconds(100);
// How long everything may take to arrive once the partner is well for good.
constexpr Duration kSettleDown{60s};
constexpr Duration kRestartAfter{400ms};

const std::vector<Turn> kTurns{{Mood::well, 2s},    {Mood::failing, 1s}, {Mood::well, 2s},
                               {Mood::hanging, 1s}, {Mood::well, 2s},    {Mood::down, 1s}};

Feed feed() { return {"invoices", {"invoices"}, true, true}; }

}  // namespace

Duration Demo::elapsed() const { return std::chrono::duration_cast<Duration>(steady_clock::now() - started_); }

Result<void> Demo::open() {
  ShopOptions options;
  options.folder = folder_;
  auto shop = DemoShop::make(options);
  if (!shop) return shop.failure();
  shop_ = *std::move(shop);
  auto partner = DemoPartner::start(kTurns);
  if (!partner) return partner.failure();
  partner_ = *std::move(partner);
  TableMapping table;
  store_ = make_sqlite_store(shop_->url(), table);
  return write_config();
}

Result<void> Demo::write_config() {
  std::ofstream file(config_file());
  file << fmt::format(
      "database: \"{}\"\n"
      "sinks:\n"
      "  invoices:\n"
      "    type: http\n"
      "    url: \"{}\"\n"
      "    from: beginning\n"
      "    timeout: {{ connect: 500ms, total: 1s }}\n"
      "    retry: {{ base: 200ms, cap: 2s, attempts: 8 }}\n"
      "    breaker: {{ failures: 5, open: 300ms, cap: 1s }}\n"
      "routes:\n"
      "  - {{ sink: invoices, owner: billing-team }}\n"
      "drain_timeout: 5s\n",
      shop_->url(), partner_->url());
  file.close();
  if (!file) return Failure{FailureKind::local, "cannot write " + config_file() + ": is the disk full?"};
  return {};
}

Result<void> Demo::start_relay() {
  auto relay = RelayProcess::start(config_file(), (folder_ / "relay.log").string());
  if (!relay) return relay.failure();
  relay_.emplace(*std::move(relay));
  viewer_.happened(elapsed(), fmt::format("relay started, process {}", relay_->pid()));
  return {};
}

void Demo::kill_relay() {
  const pid_t pid = relay_->pid();
  relay_->kill();
  relay_.reset();
  ++picture_.kills;
  viewer_.happened(elapsed(), fmt::format("relay killed, kill -9 {}", pid));
}

void Demo::look() {
  picture_.elapsed = elapsed();
  picture_.of = run_for_;
  picture_.shop = shop_->counts();
  picture_.partner = partner_->counts();
  if (picture_.mood != partner_->mood()) {
    picture_.mood = partner_->mood();
    viewer_.happened(elapsed(), fmt::format("partner: {}", to_string(picture_.mood)));
  }
  picture_.relay_runs = relay_.has_value();
  // Before the relay has made its file there is nothing to see; a figure that cannot be read keeps its last value.
  if (const auto status = store_->status({feed()}); status) {
    picture_.unsent = status->unsent;
    if (const auto sink = status->sinks.find("invoices"); sink != status->sinks.end()) {
      picture_.waiting = sink->second.parked.waiting;
      picture_.dead = sink->second.parked.dead;
    }
    picture_.breaker.clear();
    for (const RelayStatus& relay : status->relays) {
      const auto reports = parse_sink_reports(relay.sinks_json);
      if (relay.stopped || !reports || reports->empty() || status->database_now - relay.seen_at > Duration(3s))
        continue;
      picture_.breaker = reports->front().breaker;
    }
  }
  viewer_.show(picture_);
}

Result<void> Demo::trade(std::optional<Duration> lasts) {
  std::vector<Duration> kills;
  if (lasts)
    kills = {*lasts * 2 / 5, *lasts * 3 / 4};
  else
    kills = {Duration(6s)};
  Duration restart_at{};  // of the relay that was killed
  shop_->start();
  while (!lasts || elapsed() < *lasts) {
    if (interrupted_(kTurn)) {
      stopped_early_ = true;
      break;
    }
    if (relay_ && !kills.empty() && elapsed() >= kills.front()) {
      kills.erase(kills.begin());
      if (!lasts) kills.push_back(elapsed() + Duration(15s));
      kill_relay();
      restart_at = elapsed() + kRestartAfter;
    }
    if (!relay_ && elapsed() >= restart_at) {
      if (auto started = start_relay(); !started) return started;
    }
    look();
  }
  return shop_->stop();
}

// The shop is closed and the partner is well: whatever is waiting gets through, or is dead.
Result<void> Demo::settle_down() {
  viewer_.happened(elapsed(), "the shop is closed; the partner stays well; what is waiting is delivered");
  partner_->stay(Mood::well);
  if (!relay_) {
    if (auto started = start_relay(); !started) return started;
  }
  const auto committed = static_cast<std::size_t>(shop_->counts().committed);
  const auto deadline = steady_clock::now() + kSettleDown;
  while (steady_clock::now() < deadline) {
    look();
    std::set<std::string> arrived;
    for (const auto& each : partner_->arrivals()) arrived.insert(each.key);
    if (arrived.size() + static_cast<std::size_t>(picture_.dead) >= committed && picture_.waiting == 0) break;
    if (interrupted_(kTurn) && stopped_early_) break;  // a second Ctrl-C does not wait
  }
  const int code = relay_->stop();
  relay_.reset();
  if (code != 0) {
    return Failure{FailureKind::local,
                   fmt::format("the relay ended with exit code {}: see {}", code, (folder_ / "relay.log").string())};
  }
  look();
  return {};
}

Result<std::vector<std::string>> Demo::dead_letters() const {
  auto state = db::Sqlite::open(shop_->file() + "-outboxd", db::Sqlite::Mode::read);
  if (!state) return state.failure();
  auto rows = state->query("SELECT message_id FROM outbox_delivery WHERE state = 'dead'");
  if (!rows) return rows.failure();
  std::vector<std::string> ids;
  for (;;) {
    const auto more = rows->next();
    if (!more) return more.failure();
    if (!*more) return ids;
    ids.emplace_back(rows->text(0));
  }
}

Result<Findings> Demo::judge() {
  Evidence evidence;
  auto ledger = shop_->ledger();
  if (!ledger) return ledger.failure();
  evidence.committed = *std::move(ledger);
  evidence.rolled_back = shop_->counts().rolled_back;
  for (auto& arrival : partner_->arrivals()) evidence.arrived.push_back(arrival.key);
  evidence.effects = partner_->counts().invoices;
  auto dead = dead_letters();
  if (!dead) return dead.failure();
  evidence.dead = *std::move(dead);
  return check(evidence);
}

Result<Findings> Demo::run(std::optional<Duration> run_for,
                           const std::function<bool(std::chrono::milliseconds)>& interrupted) {
  interrupted_ = interrupted;
  run_for_ = run_for;
  started_ = steady_clock::now();
  if (auto opened = open(); !opened) return opened.failure();
  if (auto started = start_relay(); !started) return started.failure();
  std::optional<Duration> lasts;
  if (run_for) lasts = std::max(*run_for * 3 / 5, *run_for - Duration(3s));
  if (auto traded = trade(lasts); !traded) return traded.failure();
  if (auto settled = settle_down(); !settled) return settled.failure();
  return judge();
}

}  // namespace outbox::app
