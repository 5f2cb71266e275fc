#include "fault/sqlite_http.h"

#include "store/sqlite/schema.h"
#include "support/eventually.h"

namespace outbox::test {

using namespace std::chrono_literals;

SqliteHttp::SqliteHttp(int refused_percent, const std::filesystem::path& folder) {
  app::ShopOptions options;
  options.folder = folder.empty() ? daemon_.path() : folder;
  options.orders = 25;
  options.pause = Duration(500);
  options.refused_percent = refused_percent;
  shop_ = std::move(*app::DemoShop::make(options));
  partner_ = std::move(*app::DemoPartner::start());
  daemon_.configure("database: " + shop_->url() + "\nsinks:\n  invoices: { type: http, url: \"" + partner_->url() +
                    "\", from: beginning, timeout: { connect: 1s, total: 1s } }\n"
                    "routes:\n  - { sink: invoices }\n"
                    "retry: { base: 20ms, cap: 200ms, attempts: 8 }\n"
                    "breaker: { failures: 5, open: 50ms, cap: 200ms }\n"
                    "admin: { listen: \"127.0.0.1:0\" }\n");
}

std::int64_t SqliteHttp::unpassed() const {
  auto state = open_sqlite_state(shop_->file(), "");
  auto shop = db::Sqlite::open(shop_->file(), db::Sqlite::Mode::read);
  if (!state || !shop) return 0;
  auto seq = state->integer("SELECT seq FROM outbox_position WHERE sink = 'invoices'");
  auto rows = shop->integer("SELECT count(*) FROM outbox WHERE seq > ?", {seq ? seq->value_or(0) : 0});
  return rows ? rows->value_or(0) : 0;
}

std::vector<std::string> SqliteHttp::dead_letters() const {
  std::vector<std::string> dead;
  auto state = open_sqlite_state(shop_->file(), "");
  auto rows = state->query("SELECT message_id FROM outbox_delivery WHERE state = 'dead'");
  while (*rows->next()) dead.emplace_back(rows->text(0));
  return dead;
}

std::int64_t SqliteHttp::attempts_used() const {
  auto state = open_sqlite_state(shop_->file(), "");
  return state->integer("SELECT coalesce(max(attempts), 0) FROM outbox_delivery")->value();
}

bool SqliteHttp::nothing_waits() const {
  auto state = open_sqlite_state(shop_->file(), "");
  return unpassed() == 0 && *state->integer("SELECT count(*) FROM outbox_delivery WHERE state = 'waiting'") == 0;
}

void SqliteHttp::judge() {
  auto relay = start_relay();
  ASSERT_NE(admin_port(*relay), 0) << relay->standard_error();  // from here on it ends by SIGTERM as it should
  ASSERT_TRUE(eventually(60s, [&] { return nothing_waits(); })) << relay->standard_error();
  relay->terminate();
  const auto ended = relay->wait(20s);
  ASSERT_TRUE(ended && ended->succeeded()) << relay->standard_error();

  Evidence evidence;
  evidence.committed = *shop_->ledger();
  evidence.rolled_back = shop_->counts().rolled_back;
  for (const auto& arrival : partner_->arrivals()) evidence.arrived.push_back(arrival.key);
  evidence.effects = partner_->counts().invoices;
  evidence.dead = dead_letters();
  const auto findings = check(evidence);
  for (const auto& fault : findings.faults) ADD_FAILURE() << fault;
  EXPECT_TRUE(findings.clean());
  EXPECT_EQ(findings.effects, findings.delivered);
  EXPECT_EQ(findings.committed, shop_->counts().committed);
  EXPECT_EQ(findings.delivered + findings.dead, findings.committed);
  EXPECT_GT(findings.rolled_back, 0);
  std::printf("committed %ld, rolled back %ld, delivered %ld, duplicates %ld, dead %ld\n",
              static_cast<long>(findings.committed), static_cast<long>(findings.rolled_back),
              static_cast<long>(findings.delivered), static_cast<long>(findings.duplicates),
              static_cast<long>(findings.dead));
}

}  // namespace outbox::test
