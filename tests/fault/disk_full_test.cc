// A full disk, under the file sink and under SQLite: nothing is lost, and the relay goes on when there is space again.
#include <sys/mount.h>

#include <algorithm>
#include <fstream>

#include "fault/sqlite_http.h"
#include "support/eventually.h"
#include "support/json_lines.h"

namespace outbox::test {
namespace {

using namespace std::chrono_literals;
using app::Mood;

// A file system of its own, as large as said; needs root.
class SmallDisk {
 public:
  explicit SmallDisk(const std::string& size) {
    mounted_ = ::mount("tmpfs", folder_.path().c_str(), "tmpfs", 0, ("size=" + size).c_str()) == 0;
  }
  ~SmallDisk() {
    if (mounted_) ::umount2(folder_.path().c_str(), MNT_DETACH);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;
  bool mounted() const { return mounted_; }
  bool grow(const std::string& size) const {
    return ::mount("tmpfs", folder_.path().c_str(), "tmpfs", MS_REMOUNT, ("size=" + size).c_str()) == 0;
  }
  // Until not a byte is left.
  void fill() const {
    std::ofstream filler(file("filler"), std::ios::binary | std::ios::app);
    const std::string block(512, 'x');
    while (filler.write(block.data(), static_cast<std::streamsize>(block.size())).flush()) {
    }
  }
  void empty() const { std::filesystem::remove(file("filler")); }
  const std::filesystem::path& path() const { return folder_.path(); }
  std::string file(const std::string& name) const { return folder_.file(name); }

 private:
  TempDir folder_;
  bool mounted_ = false;
};

// Not ready, because of both.
bool says_why(int port, const std::string& who, const std::string& what) {
  return eventually(30s, [&] {
    const Page page = get(port, "/readyz");
    return page.status == 503 && page.body.find(who) != std::string::npos && page.body.find(what) != std::string::npos;
  });
}

class OnASmallDisk {
 protected:
  explicit OnASmallDisk(const std::string& size) : disk_(size) {}
  SmallDisk disk_;
};

class FullDiskUnderTheFileSink : public testing::Test, protected OnASmallDisk {
 protected:
  FullDiskUnderTheFileSink() : OnASmallDisk("64k") {}
  Daemon daemon_;
};

TEST_F(FullDiskUnderTheFileSink, LosesNothing) {
  if (!disk_.mounted()) GTEST_SKIP() << "mounting a small tmpfs needs root";
  app::ShopOptions options;
  options.folder = daemon_.path();
  auto shop = std::move(*app::DemoShop::make(options));
  daemon_.configure("database: " + shop->url() + "\nsinks:\n  audit: { type: file, path: " + disk_.file("audit.jsonl") +
                    ", from: beginning }\nroutes:\n  - { sink: audit }\nadmin: { listen: \"127.0.0.1:0\" }\n" +
                    "breaker: { failures: 5, open: 100ms, cap: 500ms }\n");
  ASSERT_TRUE(shop->take_orders(1000));
  auto relay = daemon_.start();
  const int port = admin_port(*relay);
  EXPECT_TRUE(says_why(port, "sink audit", "space")) << get(port, "/readyz").body << relay->standard_error();
  EXPECT_FALSE(relay->wait(3s)) << relay->standard_error();
  EXPECT_LT(lines_of(relay->standard_error()).size(), 60u) << relay->standard_error();
  ASSERT_TRUE(disk_.grow("8m"));
  EXPECT_TRUE(eventually(30s, [&] { return get(port, "/readyz").status == 200; })) << relay->standard_error();
  relay->terminate();
  ASSERT_TRUE(relay->wait(30s)->succeeded()) << relay->standard_error();
  const Ran once = daemon_.run_once();
  EXPECT_EQ(once.code, 0) << once.err;

  Evidence evidence;
  evidence.committed = *shop->ledger();
  for (const auto& line : parse_json_lines(read_file(disk_.file("audit.jsonl")))) evidence.arrived.push_back(line.id);
  const Findings findings = check(evidence);
  for (const auto& fault : findings.faults) ADD_FAILURE() << fault;
  EXPECT_TRUE(findings.clean());
  EXPECT_EQ(findings.delivered, shop->counts().committed);
}

class FullDiskUnderSqlite : protected OnASmallDisk, public SqliteHttp {
 protected:
  FullDiskUnderSqlite() : OnASmallDisk("8m"), SqliteHttp(0, disk_.path()) {}
};

TEST_F(FullDiskUnderSqlite, LosesNothing) {
  if (!disk_.mounted()) GTEST_SKIP() << "mounting a small tmpfs needs root";
  partner_->stay(Mood::down);
  auto relay = start_relay();
  const int port = admin_port(*relay);
  ASSERT_TRUE(shop_->take_orders(300));
  disk_.fill();
  partner_->stay(Mood::well);
  // The partner gets its orders. That they are settled can be written only as far as SQLite has room in its log; it
  // is not forgotten.
  EXPECT_TRUE(eventually(30s, [&] { return partner_->counts().invoices == shop_->counts().committed; }))
      << relay->standard_error();
  EXPECT_TRUE(eventually(30s, [&] {
    return relay->standard_error().find("free space on that disk") != std::string::npos;
  })) << relay->standard_error();
  EXPECT_FALSE(relay->wait(3s)) << relay->standard_error();
  EXPECT_LT(lines_of(relay->standard_error()).size(), 60u) << relay->standard_error();
  disk_.empty();
  EXPECT_TRUE(eventually(30s, [&] { return get(port, "/readyz").status == 200; })) << get(port, "/readyz").body;
  EXPECT_TRUE(eventually(30s, [&] { return nothing_waits(); })) << relay->standard_error();
  EXPECT_EQ(attempts_used(), 0);
  relay->terminate();
  ASSERT_TRUE(relay->wait(30s)->succeeded()) << relay->standard_error();
  judge();
  EXPECT_EQ(dead_letters().size(), 0u);
}

// What cron starts says at once what is wrong, and leaves nothing half made.
class OnceOnAFullDisk : public testing::Test, protected OnASmallDisk {
 protected:
  OnceOnAFullDisk() : OnASmallDisk("8m") {}

  void SetUp() override {
    if (!disk_.mounted()) GTEST_SKIP() << "mounting a small tmpfs needs root";
    daemon_.configure("database: \"sqlite:" + disk_.file("shop.db") +
                      "\"\nsinks: { out: { type: stdout, from: beginning } }\nroutes: [ { sink: out } ]\n");
    ASSERT_EQ(daemon_.run({"init"}).code, 0);
    ASSERT_EQ(daemon_
                  .run({"send", "--aggregate-type", "order", "--aggregate-id", "1", "--type", "Paid", "--payload",
                        "{\"paid\": true}"})
                  .code,
              0);
  }
  std::string state_file() const { return disk_.file("shop.db-outboxd"); }
  // Exit code 3, and as the only line that is no log line the reason.
  void expect_full(const Ran& once) const {
    EXPECT_EQ(once.code, 3) << once.err;
    const auto lines = lines_of(once.err);
    const auto said = std::count_if(lines.begin(), lines.end(),
                                    [](const std::string& line) { return line.starts_with("outboxd: "); });
    EXPECT_EQ(said, 1) << once.err;
    EXPECT_NE(once.err.find("outboxd: sqlite " + disk_.file("shop.db")), std::string::npos) << once.err;
    EXPECT_NE(once.err.find("free space on that disk"), std::string::npos) << once.err;
  }

  Daemon daemon_;
};

TEST_F(OnceOnAFullDisk, EndsWithThree) {
  disk_.fill();
  expect_full(daemon_.run({"run", "--once"}));
  disk_.empty();
  const Ran once = daemon_.run({"run", "--once"});
  EXPECT_EQ(once.code, 0) << once.err;
  EXPECT_NE(once.out.find("{\"paid\": true}"), std::string::npos) << once.out;
}

TEST_F(OnceOnAFullDisk, LeavesNoStateFileThatItCouldNotFill) {
  for (const char* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(state_file() + suffix);
  disk_.fill();
  expect_full(daemon_.run({"run", "--once"}));
  EXPECT_FALSE(std::filesystem::exists(state_file()));
}

}  // namespace
}  // namespace outbox::test
