// What a program with a relay of its own goes through: it finds outbox::relay in the installed package, is built, runs
// against a real database, is killed in the middle of its work, and is started again. The program is
// examples/custom_sink.
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <tuple>

#include "integration/installed_package.h"
#include "support/daemon.h"
#include "support/eventually.h"
#include "support/paths.h"
#include "support/postgres_database.h"
#include "support/services.h"

namespace outbox::test {
namespace {

using namespace std::chrono_literals;

class InstalledRelay : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (folder_) return;  // both suites share it
    folder_ = std::make_unique<TempDir>();
    install_and_build(*folder_, {"library", "relay"}, "examples/custom_sink");
  }

  void prepare(const std::string& url) {
    url_ = url;
    daemon_.configure("database: \"" + url + "\"\nsinks:\n  partner: { type: embedded }\n" +
                      "routes:\n  - { sink: partner }\n");
    const Ran made = daemon_.run({"init"});
    ASSERT_EQ(made.code, 0) << made.err;
  }

  std::unique_ptr<ChildProcess> start(const std::string& orders = {}) const {
    ProcessOptions options;
    options.input = orders;
    return std::make_unique<ChildProcess>(
        std::vector<std::string>{folder_->file("build/custom_sink"), url_, daemon_.file("partner.txt")}, options);
  }

  // A line each: ID CUSTOMER PAYLOAD.
  std::vector<std::vector<std::string>> arrived() const {
    std::vector<std::vector<std::string>> all;
    if (!std::filesystem::exists(daemon_.file("partner.txt"))) return all;
    for (const std::string& line : lines_of(read_file(daemon_.file("partner.txt")))) {
      std::istringstream words(line);
      std::vector<std::string>& row = all.emplace_back(3);
      words >> row[0] >> row[1] >> row[2];
    }
    return all;
  }
  std::set<std::string> arrived_payloads() const {
    std::set<std::string> payloads;
    for (const auto& row : arrived()) payloads.insert(row[2]);
    return payloads;
  }

  nlohmann::json dead_letters() {
    const Ran listed = daemon_.run({"list", "--state", "dead", "--limit", "1000", "--json"});
    EXPECT_EQ(listed.code, 0) << listed.err;
    return nlohmann::json::parse(listed.out)["deliveries"];
  }

  // Every order of shop_order that the partner takes, as it is told of it.
  virtual std::set<std::string> committed() = 0;
  virtual int refused() = 0;

  void deliver_and_refuse();
  void kill_and_start_again();

  static inline std::unique_ptr<TempDir> folder_;
  std::string url_;
  Daemon daemon_;
};

void InstalledRelay::deliver_and_refuse() {
  auto shop = start("ada 20\nbob -5\nada 7\nbob 9\n");
  ASSERT_TRUE(eventually(60s, [&] { return arrived().size() >= 3 && dead_letters().size() == 1; }))
      << shop->standard_error();
  EXPECT_EQ(arrived_payloads(), committed());
  const auto dead = dead_letters();
  EXPECT_EQ(dead[0]["sink"], "partner");
  EXPECT_EQ(dead[0]["aggregate_id"], "bob");
  EXPECT_EQ(dead[0]["reason"], "negative_total");
  shop->terminate();
  const auto ended = shop->wait(60s);
  ASSERT_TRUE(ended && ended->succeeded()) << shop->standard_error();
  EXPECT_NE(shop->standard_output().find("partner: 3 delivered, 1 dead"), std::string::npos) << shop->standard_output();
}

void InstalledRelay::kill_and_start_again() {
  std::string orders;
  for (int n = 1; n <= 2000; ++n) {
    orders += "customer-" + std::to_string(n % 17) + " " + (n % 100 == 0 ? "-" : "") + std::to_string(n) + "\n";
  }
  auto shop = start(orders);
  ASSERT_TRUE(eventually(60s, [&] { return arrived().size() >= 100; })) << shop->standard_error();
  shop->kill_and_wait();
  const std::size_t before = arrived().size();
  ASSERT_LT(before, 1980u) << "it was killed when all was done";

  auto again = start();
  ASSERT_TRUE(eventually(120s, [&] { return arrived_payloads().size() >= committed().size(); }))
      << again->standard_error();
  EXPECT_EQ(arrived_payloads(), committed());
  ASSERT_TRUE(eventually(60s, [&] { return dead_letters().size() == static_cast<std::size_t>(refused()); }));

  const auto rows = arrived();
  std::map<std::string, int> times;
  std::map<std::string, long> last;
  std::set<std::string> had_before;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto& [id, customer, payload] = std::tie(rows[i][0], rows[i][1], rows[i][2]);
    if (i < before) had_before.insert(id);
    if (++times[id] == 1) {
      const long number = std::stol(payload.substr(payload.find(':') + 1));
      EXPECT_GT(number, std::exchange(last[customer], number)) << "out of order for " << customer;
    } else {
      EXPECT_TRUE(had_before.contains(id) && times[id] == 2) << id << " came again, and no crash explains it";
    }
  }
  RecordProperty("duplicates", std::to_string(rows.size() - times.size()));
}

class InstalledRelayOnSqlite : public InstalledRelay {
 protected:
  void SetUp() override { prepare("sqlite:" + daemon_.file("shop.db")); }

  std::set<std::string> committed() override {
    return column("select '{\"order\":' || number || ',\"total\":' || total || '}' from shop_order where total >= 0");
  }
  int refused() override { return std::stoi(*column("select count(*) from shop_order where total < 0").begin()); }

  std::set<std::string> column(const std::string& sql) {
    std::set<std::string> values;
    sqlite3* database = nullptr;
    EXPECT_EQ(sqlite3_open_v2(daemon_.file("shop.db").c_str(), &database, SQLITE_OPEN_READONLY, nullptr), SQLITE_OK);
    sqlite3_busy_timeout(database, 5000);
    const auto take = [](void* to, int, char** columns, char**) {
      static_cast<std::set<std::string>*>(to)->insert(columns[0]);
      return 0;
    };
    EXPECT_EQ(sqlite3_exec(database, sql.c_str(), take, &values, nullptr), SQLITE_OK) << sqlite3_errmsg(database);
    sqlite3_close(database);
    return values;
  }
};

TEST_F(InstalledRelayOnSqlite, DeliversAndRefuses) { deliver_and_refuse(); }
TEST_F(InstalledRelayOnSqlite, LosesNothingWhenItIsKilled) { kill_and_start_again(); }

class InstalledRelayOnPostgres : public InstalledRelay {
 protected:
  void SetUp() override {
    OUTBOX_REQUIRE_SERVICE(server, Service::postgresql);
    database_ = std::make_unique<PostgresDatabase>(server);
    prepare(database_->url());
  }

  std::set<std::string> committed() override {
    std::set<std::string> payloads;
    for (const auto& row : database_->query("select '{\"order\":' || number || ',\"total\":' || total || '}'"
                                            " from shop_order where total >= 0")) {
      payloads.insert(*row[0]);
    }
    return payloads;
  }
  int refused() override { return std::stoi(database_->value("select count(*) from shop_order where total < 0")); }

  std::unique_ptr<PostgresDatabase> database_;
};

TEST_F(InstalledRelayOnPostgres, DeliversAndRefuses) { deliver_and_refuse(); }
TEST_F(InstalledRelayOnPostgres, LosesNothingWhenItIsKilled) { kill_and_start_again(); }

// Two programs with a sink of the same name share the messages, in order, and send none twice.
TEST_F(InstalledRelayOnPostgres, TwoOfThemShareTheWork) {
  const auto owners = [&] {
    return database_->value("select count(distinct owner) from outbox_position where sink = 'partner'");
  };
  auto first = start();
  ASSERT_TRUE(eventually(60s, [&] { return owners() == "1"; })) << first->standard_error();
  auto second = start();
  ASSERT_TRUE(eventually(60s, [&] { return owners() == "2"; })) << second->standard_error();
  for (int n = 0; n < 300; ++n) {
    database_->execute("select outbox_send('customer', 'c" + std::to_string(n % 50) +
                       "', 'OrderPlaced', '{\"order\":" + std::to_string(n) + "}')");
  }
  ASSERT_TRUE(eventually(60s, [&] { return arrived_payloads().size() == 300; }));
  EXPECT_EQ(arrived().size(), 300u);
  for (auto* each : {first.get(), second.get()}) {
    each->terminate();
    ASSERT_TRUE(each->wait(60s));
    EXPECT_EQ(each->standard_output().find("partner: 0 delivered"), std::string::npos) << each->standard_output();
  }
}

// A program that asks for what was not installed learns so from CMake, and one that only enqueues needs no more.
TEST_F(InstalledRelayOnSqlite, TheLibraryAloneIsFoundWithoutIt) {
  const TempDir folder;
  run({OUTBOX_CMAKE, "--install", OUTBOX_BUILD_DIR, "--prefix", folder.file("prefix"), "--component", "library"});
  EXPECT_FALSE(std::filesystem::exists(folder.file("prefix/include/outbox/relay.h")));
  ChildProcess refused({OUTBOX_CMAKE, "-S", (source_dir() / "examples/custom_sink").string(), "-B",
                        folder.file("build"), "-DCMAKE_PREFIX_PATH=" + folder.file("prefix")});
  const auto status = refused.wait(60s);
  ASSERT_TRUE(status);
  EXPECT_NE(status->code, 0);
  EXPECT_NE(refused.standard_error().find("relay"), std::string::npos) << refused.standard_error();
}

}  // namespace
}  // namespace outbox::test
