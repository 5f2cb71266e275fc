// What a user of the library does: install it, find it from a project of their own, build and run the examples.
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "integration/installed_package.h"
#include "store/postgres/schema.h"
#include "support/paths.h"
#include "support/postgres_database.h"
#include "support/services.h"

namespace outbox::test {
namespace {

class Installed : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (folder_) return;  // both suites share it
    folder_ = std::make_unique<TempDir>();
    install_and_build(*folder_, {"library"}, "examples");
  }

  static std::string example(const std::string& name) { return folder_->file("build/example_" + name); }

  static inline std::unique_ptr<TempDir> folder_;
};

// Nothing that only the daemon needs is looked for: each of these may be missing.
TEST(LibraryAlone, BuildsAndInstallsWithoutThePackagesOfTheDaemon) {
  const TempDir folder;
  std::vector<std::string> configure{
      OUTBOX_CMAKE, "-S", source_dir().string(), "-B", folder.file("build"), "-DOUTBOX_DAEMON=OFF", "-Werror=dev"};
  for (const std::string package : {"PkgConfig", "OpenSSL", "CURL", "fmt", "spdlog", "nlohmann_json", "yaml-cpp",
                                    "CLI11", "prometheus-cpp", "boost_headers", "GTest", "Python3"}) {
    configure.push_back("-DCMAKE_DISABLE_FIND_PACKAGE_" + package + "=ON");
  }
  run(configure);
  run({OUTBOX_CMAKE, "--build", folder.file("build")});
  run({OUTBOX_CMAKE, "--install", folder.file("build"), "--prefix", folder.file("prefix")});
  run({OUTBOX_CMAKE, "-S", (source_dir() / "examples").string(), "-B", folder.file("examples"),
       "-DCMAKE_PREFIX_PATH=" + folder.file("prefix")});
  run({OUTBOX_CMAKE, "--build", folder.file("examples")});
  EXPECT_TRUE(std::filesystem::exists(folder.file("examples/example_sqlite")));
}

class InstalledPostgres : public Installed {
 protected:
  void SetUp() override {
    OUTBOX_REQUIRE_SERVICE(server, Service::postgresql);
    database_ = std::make_unique<PostgresDatabase>(server);
    const auto made = init_postgres(database_->url(), {});
    ASSERT_TRUE(made.has_value()) << made.failure().what;
  }
  std::string value(const std::string& sql) { return database_->value(sql); }

  std::unique_ptr<PostgresDatabase> database_;
};

TEST_F(InstalledPostgres, LibpqExample) {
  const std::string id = run({example("postgres_libpq"), database_->url()});
  EXPECT_EQ(value("select id || chr(10) from outbox where payload::text = '{\"order\":4711,\"total\":99.90}'"), id);
  EXPECT_EQ(value("select count(*) from shop_order"), "1");
}

TEST_F(InstalledPostgres, PqxxExample) {
  const std::string ids = run({example("postgres_pqxx"), database_->url()});
  EXPECT_EQ(value("select string_agg(id || chr(10), '' order by seq) from outbox"), ids);
  EXPECT_EQ(value("select count(*) from outbox where aggregateid = '4712' and headers->>'tenant' = 'north'"), "2");
  EXPECT_EQ(value("select count(*) from shop_order"), "1");
}

TEST_F(InstalledPostgres, SqlExample) {
  const std::string file = (source_dir() / "examples/sql/postgres.sql").string();
  for (int time = 0; time < 2; ++time) run({"psql", database_->url(), "-q", "-v", "ON_ERROR_STOP=1", "-f", file});
  EXPECT_EQ(value("select count(*) from shop_order"), "2");
  EXPECT_EQ(value("select string_agg(type, ' ' order by seq) from outbox"),
            "OrderPlaced OrderConfirmed OrderShipped OrderPlaced");
  EXPECT_EQ(value("select count(*) from outbox where not_before > now() and aggregate_version = 2 and"
                  " schema_version = 1 and headers->'tag' = '[\"a\", \"b\"]'"),
            "1");
}

class InstalledSqlite : public Installed {
 protected:
  InstalledSqlite() : file_(data_.file("shop.db")), database_(nullptr, &sqlite3_close) {
    sqlite3* opened = nullptr;
    EXPECT_EQ(sqlite3_open(file_.c_str(), &opened), SQLITE_OK);
    database_.reset(opened);
    execute(read_file(source_dir() / "sql/sqlite/0001_outbox.up.sql"));
  }
  void execute(const std::string& sql) {
    EXPECT_EQ(sqlite3_exec(database_.get(), sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
        << sqlite3_errmsg(database_.get());
  }
  std::string value(const std::string& sql) {
    std::string text;
    const auto take = [](void* to, int, char** columns, char**) {
      *static_cast<std::string*>(to) = columns[0] == nullptr ? "" : columns[0];
      return 0;
    };
    EXPECT_EQ(sqlite3_exec(database_.get(), sql.c_str(), take, &text, nullptr), SQLITE_OK)
        << sqlite3_errmsg(database_.get());
    return text;
  }

  TempDir data_;
  std::string file_;
  std::unique_ptr<sqlite3, decltype(&sqlite3_close)> database_;
};

TEST_F(InstalledSqlite, Example) {
  const std::string id = run({example("sqlite"), file_});
  EXPECT_EQ(value("select id || char(10) from outbox where payload = '{\"order\":4713,\"total\":5.00}'"), id);
  EXPECT_EQ(value("select count(*) from shop_order"), "1");
}

TEST_F(InstalledSqlite, SqlExample) {
  for (int time = 0; time < 2; ++time) execute(read_file(source_dir() / "examples/sql/sqlite.sql"));
  EXPECT_EQ(value("select count(*) from shop_order"), "2");
  EXPECT_EQ(value("select group_concat(type, ' ') from (select type from outbox order by seq)"),
            "OrderPlaced OrderConfirmed OrderPlaced");
  EXPECT_EQ(value("select count(*) from outbox where julianday(not_before) > julianday('now')"), "1");
}

}  // namespace
}  // namespace outbox::test
