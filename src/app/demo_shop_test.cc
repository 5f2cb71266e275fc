#include "app/demo_shop.h"

#include <gtest/gtest.h>

#include <map>

#include "support/temp_dir.h"

namespace outbox::app {
namespace {

std::unique_ptr<DemoShop> make_shop(const test::TempDir& folder, std::uint64_t seed) {
  ShopOptions options;
  options.folder = folder.path();
  options.seed = seed;
  options.orders = 7;
  options.refused_percent = 20;
  auto shop = DemoShop::make(options);
  EXPECT_TRUE(shop) << shop.failure().what;
  return std::move(*shop);
}

std::vector<std::string> outbox_rows(const std::string& file, const std::string& columns) {
  auto opened = db::Sqlite::open(file, db::Sqlite::Mode::read);
  auto rows = opened->query("SELECT " + columns + " FROM outbox ORDER BY seq");
  std::vector<std::string> values;
  while (*rows->next()) values.emplace_back(rows->text(0));
  return values;
}

TEST(DemoShop, CommitsOrdersWithTheirMessagesOrNeither) {
  const test::TempDir folder;
  const auto shop = make_shop(folder, 1);
  ASSERT_TRUE(shop->take_orders(60));
  const auto counts = shop->counts();
  EXPECT_EQ(counts.committed + counts.rolled_back, 60);
  EXPECT_GT(counts.rolled_back, 0);
  const auto ledger = shop->ledger();
  ASSERT_TRUE(ledger);
  EXPECT_EQ(static_cast<std::int64_t>(ledger->size()), counts.committed);

  // The messages, in the order of their commits, are a clean delivery of the ledger.
  Evidence evidence;
  evidence.committed = *ledger;
  evidence.arrived = outbox_rows(shop->file(), "id");
  const auto verdict = check(evidence);
  EXPECT_TRUE(verdict.clean());
  EXPECT_EQ(verdict.delivered, counts.committed);
}

TEST(DemoShop, CountsTheMessagesOfAnOrderWithoutGaps) {
  const test::TempDir folder;
  const auto shop = make_shop(folder, 2);
  ASSERT_TRUE(shop->take_orders(60));
  const auto ledger = shop->ledger();
  std::map<std::string, std::set<std::int64_t>> by_key;
  for (const auto& row : *ledger) by_key[row.key].insert(row.n);
  EXPECT_GT(by_key.size(), 1u);
  for (const auto& [key, numbers] : by_key) {
    EXPECT_EQ(*numbers.begin(), 1) << key;
    EXPECT_EQ(*numbers.rbegin(), static_cast<std::int64_t>(numbers.size())) << key;
  }
}

TEST(DemoShop, TheSameSeedTakesTheSameOrders) {
  const test::TempDir folder;
  const test::TempDir other;
  const auto one = make_shop(folder, 3);
  const auto two = make_shop(other, 3);
  ASSERT_TRUE(one->take_orders(20));
  ASSERT_TRUE(two->take_orders(20));
  const auto payloads = outbox_rows(one->file(), "payload");
  EXPECT_EQ(payloads, outbox_rows(two->file(), "payload"));
  EXPECT_TRUE(std::any_of(payloads.begin(), payloads.end(),
                          [](const auto& each) { return each.find(R"("vat_id":"")") != std::string::npos; }));
}

TEST(DemoShop, WorksOnItsOwnThreadUntilItIsStopped) {
  const test::TempDir folder;
  const auto shop = make_shop(folder, 4);
  shop->start();
  ASSERT_TRUE(shop->stop());
  const auto counts = shop->counts();
  EXPECT_EQ(static_cast<std::int64_t>(shop->ledger()->size()), counts.committed);
  EXPECT_TRUE(shop->stop());
}

}  // namespace
}  // namespace outbox::app
