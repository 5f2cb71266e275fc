#include "store/sqlite/sqlite_store.h"

#include <gtest/gtest.h>

#include <thread>

#include "store/sqlite/schema.h"
#include "support/sqlite_restore.h"
#include "support/temp_dir.h"

namespace outbox {
namespace {

const Feed kFeed{"sink", {"sink"}, true, true};

class SqliteStore : public testing::Test {
 protected:
  SqliteStore() : file_(folder_.file("shop.db")) {
    const auto made = init_sqlite(file_, {});
    EXPECT_TRUE(made) << made.failure().what;
    shop_.emplace(std::move(*db::Sqlite::open(file_, db::Sqlite::Mode::write)));
    EXPECT_TRUE(shop_->script("PRAGMA synchronous=OFF"));
    store_ = make_sqlite_store("sqlite:" + file_, {});
  }

  std::int64_t insert(const std::string& id, const std::string& created = "2026-01-01T00:00:00Z") {
    const auto done = shop_->run(
        "INSERT INTO outbox (id, aggregatetype, aggregateid, type, payload, created_at) VALUES (?, 'order', '1', 'T', "
        "'{}', ?)",
        {id, created});
    EXPECT_TRUE(done);
    return **shop_->integer("SELECT last_insert_rowid()");
  }

  FeedState take_over(const Feed& feed = kFeed) {
    auto state = store_->take_over(feed, "relay");
    EXPECT_TRUE(state) << state.failure().what;
    return *state;
  }

  static Park park(const std::string& id, const std::string& key, std::int64_t seq, Time next = {}) {
    auto record = std::make_shared<Record>();
    record->id = id;
    record->seq = seq;
    record->aggregate_type = "order";
    record->aggregate_id = key;
    record->key = make_key("order", key);
    record->type = "T";
    record->payload = std::string("\0{\xff", 3);
    record->payload_json = false;
    record->headers = R"({"a":["1","1"],"b":""})";
    record->aggregate_version = 5;
    Park park;
    park.record = record;
    park.sink = "sink";
    park.next_attempt = next;
    park.charged = true;
    park.attempts = 1;
    park.reason = "http_500";
    park.error = "status 500";
    return park;
  }

  void settle(const FeedState& state, const SettleBatch& batch, const Feed& feed = kFeed) {
    const auto done = store_->settle(feed, state.epoch, batch);
    ASSERT_TRUE(done) << done.failure().what;
  }
  void settle(const FeedState& state, std::int64_t seq) {
    SettleBatch batch;
    batch.position = Position{{}, {}, seq, {}};
    settle(state, batch);
  }

  std::vector<ParkedRun> due(const std::vector<std::string>& except = {}) {
    auto runs = store_->due("sink", {}, 10, 10, except);
    EXPECT_TRUE(runs) << runs.failure().what;
    return std::move(*runs);
  }
  static std::string ids(const std::vector<ParkedRun>& runs) {
    std::string text;
    for (const auto& run : runs) {
      for (const auto& each : run.deliveries) text += each.record->id;
      text += run.more ? "+ " : " ";
    }
    return text;
  }

  test::TempDir folder_;
  std::string file_;
  std::optional<db::Sqlite> shop_;
  std::unique_ptr<Store> store_;
};

TEST_F(SqliteStore, KeepsThePositionOverARestart) {
  for (const char* id : {"a", "b", "c", "d"}) insert(id);
  SettleBatch batch;
  batch.position = Position{{}, {}, 2, {{4, 0}}};
  settle(take_over(), batch);
  store_ = make_sqlite_store("sqlite:" + file_, {});
  const auto state = take_over();
  EXPECT_EQ(state.start, *batch.position);
  EXPECT_EQ(state.epoch, 2u);
}

TEST_F(SqliteStore, ANewSinkStartsAtTheBeginningOrNow) {
  insert("a");
  EXPECT_EQ(take_over().start.seq, 0);
  EXPECT_EQ(take_over({"late", {"late"}, true, false}).start.seq, 1);
}

TEST_F(SqliteStore, RefusesFeedsThatWouldMarkRows) {
  const auto refused = store_->take_over({"*", {"sink"}, false, true}, "relay");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.failure().kind, FailureKind::invalid);
  EXPECT_NE(refused.failure().what.find("sent: keep"), std::string::npos);
}

TEST_F(SqliteStore, AnOlderOwnerWritesNothing) {
  insert("a");
  const auto old = take_over();
  auto other = make_sqlite_store("sqlite:" + file_, {});
  ASSERT_TRUE(other->take_over(kFeed, "other"));
  SettleBatch batch;
  batch.position = Position{{}, {}, 1, {}};
  batch.parks.push_back(park("p", "1", 1));
  const auto refused = store_->settle(kFeed, old.epoch, batch);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.failure().kind, FailureKind::fenced);
  batch.position.reset();
  EXPECT_FALSE(store_->settle(kFeed, old.epoch, batch));
  EXPECT_EQ(other->parking("sink", {})->counts.waiting, 0);
  EXPECT_EQ(take_over().start.seq, 0);
}

TEST_F(SqliteStore, AParkedDeliveryComesBackAsItWas) {
  const auto state = take_over();
  SettleBatch batch;
  batch.parks.push_back(park("p", "1", 1));
  settle(state, batch);
  settle(state, batch);  // in doubt, repeated
  const auto runs = due();
  ASSERT_EQ(ids(runs), "p ");
  const auto& delivery = runs[0].deliveries[0];
  const auto& record = *batch.parks[0].record;
  EXPECT_EQ(delivery.attempts, 1);
  EXPECT_EQ(delivery.record->payload, record.payload);
  EXPECT_FALSE(delivery.record->payload_json);
  EXPECT_FALSE(delivery.record->payload_null);
  EXPECT_EQ(delivery.record->headers, record.headers);
  EXPECT_EQ(delivery.record->key, record.key);
  EXPECT_EQ(delivery.record->seq, 1);
  EXPECT_EQ(delivery.record->aggregate_version, 5);
  EXPECT_FALSE(delivery.record->schema_version);
}

TEST_F(SqliteStore, AKeyWaitsForItsFirstAndComesInOrder) {
  const auto state = take_over();
  const Time later = db::sqlite_now() + 1h;
  SettleBatch batch;
  batch.parks = {park("a", "1", 1, later), park("b", "1", 2), park("x", "2", 3)};
  batch.parks[1].charged = false;
  batch.parks[1].reason = "behind_key";
  settle(state, batch);
  EXPECT_EQ(ids(due()), "x ");
  EXPECT_EQ(ids(due({"order:2"})), "");
  EXPECT_LE(store_->parking("sink", {})->next_due, db::sqlite_now());

  const auto row = due()[0].deliveries[0].row;
  SettleBatch again;
  again.updates.push_back({row, ParkedUpdate::Kind::waiting, 2, later, false, "http_503", "status 503"});
  settle(state, again);
  EXPECT_EQ(store_->parking("sink", {})->next_due, later);

  // The head turns out to be dead: the next of its key has its turn.
  auto files = open_sqlite_state(file_, "");
  SettleBatch last;
  last.updates.push_back({**files->integer("SELECT row FROM outbox_delivery WHERE message_id = 'a'"),
                          ParkedUpdate::Kind::dead,
                          8,
                          {},
                          false,
                          "attempts",
                          "status 500"});
  settle(state, last);
  EXPECT_EQ(ids(due()), "b ");
  EXPECT_EQ(store_->parking("sink", {})->counts.dead, 1);
}

TEST_F(SqliteStore, ADeadHeadThatHoldsItsKeyLetsNobodyPass) {
  const auto state = take_over();
  SettleBatch batch;
  batch.parks = {park("a", "1", 1), park("b", "1", 2)};
  batch.parks[0].state = DeliveryState::dead;
  batch.parks[0].holds_key = true;
  settle(state, batch);
  EXPECT_EQ(ids(due()), "");
  EXPECT_EQ(store_->parking("sink", {})->next_due, kNever);
  EXPECT_EQ(store_->page_facts("sink", {"order:1", "order:2"}, {"b", "c"})->waiting_keys.size(), 1u);
  // Its own retention releases the key, but not before the position has passed the message.
  EXPECT_EQ(*store_->prune({kFeed}, {{}, Duration(0)}, 100, false), 0);
  settle(state, 2);
  ASSERT_TRUE(store_->prune({kFeed}, {{}, Duration(0)}, 100, false));
  EXPECT_EQ(ids(due()), "b ");
}

TEST_F(SqliteStore, WhatIsNotDueHoldsNobodyBackUntilItsTime) {
  const auto state = take_over();
  const Time soon = db::sqlite_now() + 1h;
  SettleBatch batch;
  batch.parks = {park("n", "1", 1, soon), park("b", "1", 2)};
  batch.parks[0].not_due = true;
  batch.parks[0].charged = false;
  settle(state, batch);
  EXPECT_EQ(ids(due()), "b ");
  SettleBatch done;
  done.updates.push_back({due()[0].deliveries[0].row, ParkedUpdate::Kind::done, 0, {}, false, "", ""});
  settle(state, done);
  EXPECT_TRUE(store_->page_facts("sink", {"order:1"}, {})->waiting_keys.empty());
  EXPECT_EQ(store_->parking("sink", {})->next_due, soon);
  EXPECT_EQ(store_->parking("sink", {})->counts.uncharged, 0);

  auto file = open_sqlite_state(file_, "");
  ASSERT_TRUE(file->run("UPDATE outbox_delivery SET next_attempt_at = 1 WHERE message_id = 'n'"));
  EXPECT_EQ(store_->page_facts("sink", {"order:1"}, {})->waiting_keys.size(), 1u);
  EXPECT_EQ(ids(due()), "n ");
}

TEST_F(SqliteStore, ATombstoneStaysUntilThePositionHasPassedItsMessage) {
  const auto seq = insert("a");
  const auto state = take_over();
  SettleBatch batch;
  batch.parks.push_back(park("a", "1", seq));
  settle(state, batch);
  SettleBatch done;
  done.updates.push_back({due()[0].deliveries[0].row, ParkedUpdate::Kind::done, 1, {}, false, "", ""});
  settle(state, done);
  EXPECT_EQ(*store_->prune({kFeed}, {}, 100, false), 0);
  EXPECT_EQ(store_->page_facts("sink", {}, {"a"})->known_messages.size(), 1u);
  EXPECT_TRUE(store_->parking("sink", {})->counts.concerns_stream);
  settle(state, seq);
  EXPECT_FALSE(store_->parking("sink", {})->counts.concerns_stream);
  EXPECT_EQ(*store_->prune({kFeed}, {}, 100, true), 1);
  EXPECT_EQ(*store_->prune({kFeed}, {}, 100, false), 1);
  EXPECT_TRUE(store_->page_facts("sink", {}, {"a"})->known_messages.empty());
}

TEST_F(SqliteStore, DeadLettersThatRetentionTakesAreCountedInTheAudit) {
  const auto state = take_over();
  SettleBatch batch;
  batch.parks = {park("a", "1", 1), park("b", "2", 2)};
  for (Park& each : batch.parks) each.state = DeliveryState::dead;
  settle(state, batch);
  settle(state, 2);
  const Store::Retention retention{{}, Duration(0), "relay-1"};
  EXPECT_EQ(*store_->prune({kFeed}, retention, 100, true), 2);
  auto file = open_sqlite_state(file_, "");
  EXPECT_EQ(*file->integer("SELECT count(*) FROM outbox_audit"), 0);
  EXPECT_EQ(*store_->prune({kFeed}, retention, 100, false), 2);
  EXPECT_EQ(*store_->prune({kFeed}, retention, 100, false), 0);
  EXPECT_EQ(*file->text("SELECT group_concat(actor || '|' || action || '|' || sink || '|' || message_id || '|' || "
                        "reason || '|' || detail) FROM outbox_audit"),
            "relay-1|discarded|sink||dead_letters.retain|2 dead letters older than 0us");
}

TEST_F(SqliteStore, RetentionDeletesOldRowsBehindEveryPosition) {
  for (const char* id : {"a", "b", "c"}) insert(id);
  insert("d", "2999-01-01T00:00:00Z");
  insert("e");
  const auto state = take_over();
  const Feed other{"other", {"other"}, true, true};
  const auto slower = take_over(other);
  settle(state, 5);
  const Store::Retention retention{Duration(24h), {}};
  EXPECT_EQ(*store_->prune({kFeed, other}, retention, 100, false), 0);
  SettleBatch batch;
  batch.position = Position{{}, {}, 5, {}};
  settle(slower, batch, other);
  EXPECT_EQ(*store_->prune({kFeed, other}, retention, 2, true), 2);
  EXPECT_EQ(*store_->prune({kFeed, other}, retention, 2, false), 2);
  EXPECT_EQ(*store_->prune({kFeed, other}, retention, 100, false), 1);
  EXPECT_EQ(*store_->prune({kFeed, other}, retention, 100, false), 0);
  EXPECT_EQ(*shop_->text("SELECT group_concat(id) FROM outbox"), "d,e");
  // d, from the far future, goes once it was passed long enough ago.
  auto file = open_sqlite_state(file_, "");
  ASSERT_TRUE(file->run("UPDATE outbox_history SET passed_at = 1"));
  EXPECT_EQ(*store_->prune({kFeed, other}, retention, 100, false), 2);
}

TEST_F(SqliteStore, StatusCountsWhatIsUnsent) {
  for (const char* id : {"a", "b", "c"}) insert(id);
  SettleBatch batch;
  batch.position = Position{{}, {}, 1, {{3, 0}}};
  batch.parks.push_back(park("p", "1", 1));
  settle(take_over(), batch);
  ASSERT_TRUE(store_->heartbeat({"relay", "{}", false}));
  const auto status = store_->status({kFeed});
  ASSERT_TRUE(status) << status.failure().what;
  EXPECT_EQ(status->unsent, 1);
  EXPECT_EQ(status->oldest_unsent, Time(Duration(1'767'225'600'000'000)));
  EXPECT_EQ(status->sinks.at("sink").parked.waiting, 1);
  EXPECT_EQ(status->sinks.at("sink").last_error, "status 500");
  EXPECT_TRUE(status->sinks.at("sink").last_error_at.has_value());
  ASSERT_EQ(status->relays.size(), 1u);
  EXPECT_FALSE(status->relays[0].stopped);
}

TEST_F(SqliteStore, ARestoredFileIsResumedWhereBothAgree) {
  const auto state = take_over();
  for (int i = 1; i <= 3; ++i) insert("m" + std::to_string(i));
  settle(state, 3);
  ASSERT_TRUE(shop_->script("VACUUM INTO '" + folder_.file("backup.db") + "'"));
  for (int i = 4; i <= 6; ++i) insert("m" + std::to_string(i));
  settle(state, 6);

  shop_.reset();
  for (const char* rest : {"", "-wal", "-shm"}) std::filesystem::remove(file_ + rest);
  std::filesystem::rename(folder_.file("backup.db"), file_);
  shop_.emplace(std::move(*db::Sqlite::open(file_, db::Sqlite::Mode::write)));
  ASSERT_TRUE(shop_->script("PRAGMA journal_mode=WAL"));
  // The numbers after 3 are given out once more, up to and beyond the old position.
  for (int i = 4; i <= 7; ++i) insert("new" + std::to_string(i));

  store_ = make_sqlite_store("sqlite:" + file_, {});
  EXPECT_EQ(take_over().start.seq, 3);
}

TEST_F(SqliteStore, ARestoreInPlaceIsTakenOverAnew) {
  const auto state = take_over();
  for (int i = 1; i <= 3; ++i) insert("m" + std::to_string(i));
  settle(state, 3);
  test::copy_database(file_, folder_.file("backup.db"));
  for (int i = 4; i <= 6; ++i) insert("m" + std::to_string(i));
  settle(state, 6);
  test::copy_database(folder_.file("backup.db"), file_);
  for (int i = 4; i <= 7; ++i) insert("new" + std::to_string(i));

  // Behind the old position, until it is taken over anew: nothing there was sent.
  Store::Retention retention;
  retention.sent = 1s;
  EXPECT_EQ(*store_->prune({kFeed}, retention, 100, false), 0);
  SettleBatch batch;
  batch.position = Position{{}, {}, 7, {}};
  const auto refused = store_->settle(kFeed, state.epoch, batch);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.failure().kind, FailureKind::unavailable);
  const auto again = take_over();
  EXPECT_EQ(again.start.seq, 3);
  settle(again, 7);
  EXPECT_EQ(*store_->prune({kFeed}, retention, 100, false), 7);
}

// The position says nothing of what the source had read beyond it.
TEST_F(SqliteStore, WhatIsInFlightWhenTheFileIsRestoredMovesNoPosition) {
  const auto last_read = std::make_shared<db::LastRead>();
  store_ = make_sqlite_store("sqlite:" + file_, {}, last_read);
  const auto state = take_over();
  for (int i = 1; i <= 3; ++i) insert("m" + std::to_string(i));
  settle(state, 3);
  test::copy_database(file_, folder_.file("backup.db"));
  for (int i = 4; i <= 6; ++i) insert("m" + std::to_string(i));
  last_read->set({6, "m6"});
  test::copy_database(folder_.file("backup.db"), file_);
  for (int i = 4; i <= 7; ++i) insert("new" + std::to_string(i));

  SettleBatch batch;
  batch.position = Position{{}, {}, 6, {}};
  const auto refused = store_->settle(kFeed, state.epoch, batch);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.failure().kind, FailureKind::unavailable);
  EXPECT_EQ(take_over().start.seq, 3);
}

TEST_F(SqliteStore, ANewFileIsReadFromItsBeginning) {
  for (int i = 1; i <= 3; ++i) insert("m" + std::to_string(i));
  settle(take_over(), 3);
  shop_.reset();
  for (const char* rest : {"", "-wal", "-shm"}) std::filesystem::remove(file_ + rest);
  ASSERT_TRUE(init_sqlite(file_, {}));
  shop_.emplace(std::move(*db::Sqlite::open(file_, db::Sqlite::Mode::write)));
  insert("fresh");
  EXPECT_EQ(take_over().start.seq, 0);
}

TEST_F(SqliteStore, RowsThatTheirOwnerDeletedAreNoRestore) {
  for (int i = 1; i <= 3; ++i) insert("m" + std::to_string(i));
  settle(take_over(), 3);
  ASSERT_TRUE(shop_->script("DELETE FROM outbox"));
  EXPECT_EQ(take_over().start.seq, 3);
}

TEST(SqliteSchema, IsMadeOnceEvenByTwoAtOnce) {
  const test::TempDir folder;
  const std::string file = folder.file("shop.db");
  std::vector<Result<InitReport>> reports(2, Failure{});
  {
    std::vector<std::jthread> both;
    both.reserve(reports.size());
    for (auto& report : reports) both.emplace_back([&] { report = init_sqlite(file, {}); });
  }
  for (const auto& report : reports) ASSERT_TRUE(report) << report.failure().what;
  EXPECT_EQ(reports[0]->applied.size() + reports[1]->applied.size(), 5u);
  EXPECT_TRUE(init_sqlite(file, {})->applied.empty());
}

TEST(SqliteSchema, TakesAPrefix) {
  const test::TempDir folder;
  const std::string file = folder.file("shop.db");
  ASSERT_TRUE(init_sqlite(file, {"billing_outbox", "json", "poll"}));
  ASSERT_TRUE(init_sqlite(file, {}));
  TableMapping mapping;
  mapping.table = "billing_outbox";
  mapping.prefix = "billing_";
  auto store = make_sqlite_store("sqlite:" + file, mapping);
  EXPECT_TRUE(store->take_over(kFeed, "relay"));
  auto state = open_sqlite_state(file, "");
  EXPECT_EQ(*state->integer("SELECT count(*) FROM billing_outbox_position"), 1);
  EXPECT_EQ(*state->integer("SELECT count(*) FROM outbox_position"), 0);
  EXPECT_FALSE(init_sqlite(file, {"shop.outbox", "json", "poll"}));
  EXPECT_FALSE(init_sqlite(file, {"events", "json", "poll"}));
  EXPECT_NE(sqlite_schema_sql({"billing_outbox", "json", "poll"}).find("CREATE TABLE billing_outbox_delivery"),
            std::string::npos);
}

TEST(SqliteSchema, LeavesAForeignTableAlone) {
  const test::TempDir folder;
  const std::string file = folder.file("shop.db");
  auto shop = db::Sqlite::open(file, db::Sqlite::Mode::create);
  ASSERT_TRUE(shop->script("CREATE TABLE events (n INTEGER PRIMARY KEY, body TEXT)"));
  const auto report = init_sqlite(file, {"events", "json", "poll"});
  ASSERT_TRUE(report) << report.failure().what;
  EXPECT_EQ(report->applied,
            (std::vector<std::string>{"0001_state", "0002_operations", "0003_forwarding", "0004_discarded"}));
  EXPECT_EQ(*shop->integer("SELECT count(*) FROM sqlite_schema"), 1);
}

TEST(SqliteSchema, AMissingFileIsSaidPlainly) {
  const test::TempDir folder;
  auto store = make_sqlite_store("sqlite:" + folder.file("none.db"), {});
  const auto state = store->take_over(kFeed, "relay");
  ASSERT_FALSE(state);
  EXPECT_EQ(state.failure().kind, FailureKind::local);
  EXPECT_FALSE(std::filesystem::exists(folder.file("none.db-outboxd")));
}

TEST(SqliteSchema, OlderStateIsBroughtUpToDateAndTheNextVersionIsUsed) {
  const test::TempDir folder;
  const std::string file = folder.file("shop.db");
  ASSERT_TRUE(init_sqlite(file, {}));
  const auto set_version = [&](const std::string& version) {
    auto state = db::Sqlite::open(sqlite_state_file(file), db::Sqlite::Mode::write);
    return state->script("UPDATE outbox_meta SET value = '" + version + "' WHERE name = 'schema_version'");
  };
  {
    auto state = db::Sqlite::open(sqlite_state_file(file), db::Sqlite::Mode::write);
    ASSERT_TRUE(
        state->script("DROP INDEX outbox_delivery_dead; DROP TABLE outbox_pause; DROP TABLE outbox_audit;"
                      "DROP INDEX outbox_delivery_unforwarded; ALTER TABLE outbox_delivery DROP COLUMN"
                      " forwarded; ALTER TABLE outbox_delivery DROP COLUMN forward_refusal; ALTER TABLE"
                      " outbox_delivery DROP COLUMN discarded"));
    for (const std::string reason : {"http_422", "discarded", "replaced"}) {
      ASSERT_TRUE(
          state->run("INSERT INTO outbox_delivery (sink, message_id, ord, key, state, next_attempt_at, reason,"
                     " last_error, owner, parked_at, updated_at, seq, aggregate_type, aggregate_id, type,"
                     " payload_json, headers, traceparent, created_at) VALUES ('events', ?1, 1, 'a:1', 'done',"
                     " 0, ?1, '', '', 0, 0, 1, 'a', '1', 't', 1, '', '', 0)",
                     {reason}));
    }
  }
  ASSERT_TRUE(set_version("1"));
  ASSERT_TRUE(open_sqlite_state(file, ""));
  EXPECT_EQ(open_sqlite_state(file, "")->integer("SELECT count(*) FROM outbox_audit").value(), 0);
  EXPECT_EQ(open_sqlite_state(file, "")
                ->text("SELECT group_concat(reason) FROM (SELECT reason FROM outbox_delivery WHERE discarded = 1 ORDER"
                       " BY reason)")
                .value(),
            "discarded,replaced");
  const auto again = init_sqlite(file, {});
  EXPECT_TRUE(again->applied.empty());
  EXPECT_EQ(again->version, 4);
  ASSERT_TRUE(set_version("5"));
  EXPECT_TRUE(open_sqlite_state(file, "")) << "the next outboxd's, which only adds";
  ASSERT_TRUE(set_version("6"));
  EXPECT_FALSE(open_sqlite_state(file, ""));
}

}  // namespace
}  // namespace outbox
