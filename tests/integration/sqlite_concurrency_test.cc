// An application and a relay at work on the same SQLite file at the same time: nothing is lost, sent twice, inverted or
// invented, and the application never meets a lock of ours, not even without a busy time-out (case B017).
#include <gtest/gtest.h>
#include <sys/mount.h>

#include <atomic>
#include <thread>

#include "app/checker.h"
#include "app/demo_shop.h"
#include "source/poll/sqlite_source.h"
#include "store/sqlite/schema.h"
#include "store/sqlite/sqlite_store.h"
#include "support/temp_dir.h"

namespace outbox {
namespace {

using test::TempDir;

const Feed kFeed{"sink", {"sink"}, true, true};

// What a relay does with its database, without a sink: reads, parks now and then, settles; and starts anew often.
class BareRelay {
 public:
  explicit BareRelay(const std::string& url) : url_(url) {}

  // Until `stop` and nothing is left to read. Every life ends after some pages.
  void run(const std::stop_token& stop) {
    for (int life = 0; !finished_; ++life) live(stop, life);
  }

  std::vector<std::string> arrived;

 private:
  void live(const std::stop_token& stop, int life) {
    auto store = make_sqlite_store(url_, {});
    auto source = make_sqlite_source(url_, {});
    auto state = store->take_over(kFeed, "relay");
    ASSERT_TRUE(state) << state.failure().what;
    ASSERT_TRUE(source->open(state->start));
    for (int page_number = 0; page_number < 20; ++page_number) {
      const bool last_look = stop.stop_requested();
      auto page = source->fetch(7, 1 << 20);
      ASSERT_TRUE(page) << page.failure().what;
      if (page->records.empty()) {
        finished_ = last_look;
        if (finished_) return;
        std::this_thread::yield();
        continue;
      }
      for (const auto& record : page->records) arrived.push_back(record->id);
      // A crash between reading and settling: the page comes again in the next life.
      if (life % 3 == 0 && page_number == 19) return;
      SettleBatch batch;
      batch.position = Position{{}, {}, page->records.back()->seq, {}};
      if (page_number % 5 == 0) {
        Park park;
        park.record = page->records.front();
        park.sink = "sink";
        park.next_attempt = kNever;
        batch.parks.push_back(std::move(park));
      }
      auto settled = store->settle(kFeed, state->epoch, batch);
      ASSERT_TRUE(settled) << settled.failure().what;
    }
  }

  std::string url_;
  bool finished_ = false;
};

TEST(SqliteConcurrency, ADeferredReadThenWriteIsNeverRefusedBecauseOfUs) {
  const TempDir folder;
  app::ShopOptions options;
  options.folder = folder.path();
  auto shop = app::DemoShop::make(options);
  ASSERT_TRUE(shop);
  auto application = db::Sqlite::open((*shop)->file(), db::Sqlite::Mode::write, 0s);
  ASSERT_TRUE(application);
  ASSERT_TRUE(application->script("PRAGMA synchronous=NORMAL"));

  BareRelay relay((*shop)->url());
  {
    std::jthread thread([&](const std::stop_token& stop) { relay.run(stop); });
    for (int i = 1; i <= 3000; ++i) {
      ASSERT_TRUE(application->script("BEGIN DEFERRED"));
      auto n = application->integer("SELECT coalesce(max(n), 0) + 1 FROM ledger");
      ASSERT_TRUE(n) << n.failure().what;
      const std::string id = "m" + std::to_string(i);
      auto written = application->run("INSERT INTO ledger (id, key, n) VALUES (?, 'k', ?)", {id, **n});
      ASSERT_TRUE(written) << i << ": " << written.failure().what;
      written = application->run(
          "INSERT INTO outbox (id, aggregatetype, aggregateid, type, payload) VALUES (?, 'order', 'k', 'T', '{}')",
          {id});
      ASSERT_TRUE(written) << i << ": " << written.failure().what;
      auto ended = application->script(i % 7 == 0 ? "ROLLBACK" : "COMMIT");
      ASSERT_TRUE(ended) << i << ": " << ended.failure().what;
    }
  }
  Evidence evidence;
  evidence.committed = *(*shop)->ledger();
  evidence.arrived = relay.arrived;
  const auto verdict = check(evidence);
  for (const auto& fault : verdict.faults) ADD_FAILURE() << fault;
  EXPECT_EQ(verdict.committed, 3000 - 3000 / 7);
  EXPECT_EQ(verdict.delivered, verdict.committed);
}

TEST(SqliteConcurrency, AShopAtWorkIsFollowedExactly) {
  const TempDir folder;
  app::ShopOptions options;
  options.folder = folder.path();
  options.pause = Duration(0);
  auto shop = app::DemoShop::make(options);
  ASSERT_TRUE(shop);
  BareRelay relay((*shop)->url());
  {
    std::jthread thread([&](const std::stop_token& stop) { relay.run(stop); });
    ASSERT_TRUE((*shop)->take_orders(500));
  }
  Evidence evidence;
  evidence.committed = *(*shop)->ledger();
  evidence.rolled_back = (*shop)->counts().rolled_back;
  evidence.arrived = relay.arrived;
  const auto verdict = check(evidence);
  for (const auto& fault : verdict.faults) ADD_FAILURE() << fault;
  EXPECT_EQ(verdict.committed, (*shop)->counts().committed);
  EXPECT_EQ(verdict.delivered, verdict.committed);
  EXPECT_GT(verdict.rolled_back, 0);
}

// A file system of a megabyte. Skipped where this user may not mount.
class SmallDisk {
 public:
  SmallDisk() { mounted_ = ::mount("tmpfs", folder_.path().c_str(), "tmpfs", 0, "size=1m") == 0; }
  ~SmallDisk() {
    if (mounted_) ::umount2(folder_.path().c_str(), MNT_DETACH);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;
  bool mounted() const { return mounted_; }
  std::string file(const std::string& name) const { return folder_.file(name); }

 private:
  TempDir folder_;
  bool mounted_ = false;
};

TEST(SqliteDiskFull, NothingIsLostAndItGoesOnWhenThereIsSpaceAgain) {
  const SmallDisk disk;
  if (!disk.mounted()) GTEST_SKIP() << "mounting a small tmpfs needs root";
  const std::string file = disk.file("shop.db");
  ASSERT_TRUE(init_sqlite(file, {}));
  auto shop = db::Sqlite::open(file, db::Sqlite::Mode::write);
  ASSERT_TRUE(
      shop->script("INSERT INTO outbox (id, aggregatetype, aggregateid, type, payload) VALUES "
                   "('a', 'order', '1', 'T', '{}'), ('b', 'order', '1', 'T', '{}')"));
  auto store = make_sqlite_store("sqlite:" + file, {});
  auto state = store->take_over(kFeed, "relay");
  ASSERT_TRUE(state) << state.failure().what;

  SettleBatch small;
  small.position = Position{{}, {}, 1, {}};
  ASSERT_TRUE(store->settle(kFeed, state->epoch, small));

  const std::string filler = disk.file("filler");
  {
    std::string bytes(4096, 'x');
    FILE* out = std::fopen(filler.c_str(), "wb");
    while (std::fwrite(bytes.data(), 1, bytes.size(), out) == bytes.size() && std::fflush(out) == 0) {
    }
    std::fclose(out);
  }
  SettleBatch large;
  large.position = Position{{}, {}, 2, {}};
  auto record = std::make_shared<Record>();
  record->id = "b";
  record->seq = 2;
  record->key = "order:1";
  record->payload = std::string(200'000, 'x');
  Park park;
  park.record = record;
  park.sink = "sink";
  large.parks.push_back(park);
  const auto full = store->settle(kFeed, state->epoch, large);
  ASSERT_FALSE(full);
  EXPECT_EQ(full.failure().kind, FailureKind::local);
  EXPECT_NE(full.failure().what.find("shop.db-outboxd"), std::string::npos) << full.failure().what;
  EXPECT_NE(full.failure().what.find("free space"), std::string::npos) << full.failure().what;

  std::filesystem::remove(filler);
  const auto repeated = store->settle(kFeed, state->epoch, large);
  ASSERT_TRUE(repeated) << repeated.failure().what;
  auto runs = store->due("sink", {}, 10, 10, {});
  ASSERT_TRUE(runs);
  ASSERT_EQ(runs->size(), 1u);
  EXPECT_EQ((*runs)[0].deliveries[0].record->payload, record->payload);
  EXPECT_EQ(store->take_over(kFeed, "relay")->start.seq, 2);
}

}  // namespace
}  // namespace outbox
