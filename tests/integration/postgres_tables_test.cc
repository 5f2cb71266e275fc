// The outbox tables that people have (shared shapes A to D and Debezium's default), unaltered.
#include <map>
#include <set>

#include "integration/postgres_relay.h"
#include "support/eventually.h"

namespace outbox::test {
namespace {

struct Table {
  std::string name;
  std::string ddl;
  std::string insert;  // of $1 aggregate id, $2 payload; the id is the table's or gen_random_uuid()
  TableMapping mapping;
  SentMode sent;
  bool ordered;
};

TableMapping mapping(const std::string& table, std::map<std::string, std::string> columns,
                     std::map<std::string, std::string> constants = {}) {
  TableMapping result;
  result.table = table;
  result.columns = std::move(columns);
  result.constants = std::move(constants);
  return result;
}

TableMapping deleting(TableMapping of) {
  of.sent_given = true;
  of.sent = SentMode::remove;
  return of;
}

const std::vector<Table>& tables() {
  static const std::vector<Table> kTables{
      {"A",
       "create table outbox (id uuid primary key, aggregatetype varchar(255) not null, aggregateid varchar(255) not "
       "null,"
       " type varchar(255) not null, payload jsonb not null, created_at timestamptz default now(), published_at "
       "timestamptz,"
       " attempts int not null default 0, next_attempt_at timestamptz default now(), last_error text);"
       "create index on outbox (next_attempt_at) where published_at is null",
       "insert into outbox (id, aggregatetype, aggregateid, type, payload) values (gen_random_uuid(), 'order', $1, 'T',"
       " $2)",
       mapping("outbox", {}), SentMode::mark, true},
      {"B",
       "create table outbox (id uuid, aggregate_type text, aggregate_id text, event_type text, payload json,"
       " created_at timestamptz, published_at timestamptz)",
       "insert into outbox values (gen_random_uuid(), 'order', $1, 'T', $2, clock_timestamp())",
       mapping("outbox", {{"type", "event_type"}}), SentMode::mark, true},
      {"C",
       "create table outbox_events (event_id uuid primary key default gen_random_uuid(), aggregate_type text,"
       " aggregate_id text, aggregate_version bigint, event_type text, payload jsonb not null, created_at timestamptz"
       " default clock_timestamp(), published_at timestamptz, lease_token text, lease_until timestamptz, attempts int);"
       "create index on outbox_events (created_at, event_id) where published_at is null",
       "insert into outbox_events (aggregate_type, aggregate_id, aggregate_version, event_type, payload) values "
       "('order',"
       " $1, 3, 'T', $2)",
       mapping("outbox_events", {{"id", "event_id"}, {"type", "event_type"}}), SentMode::mark, true},
      {"D",
       "create table outbox (id uuid primary key default gen_random_uuid(), aggregate_id uuid, event_type varchar(100),"
       " payload jsonb not null, created_at timestamptz default now(), published_at timestamptz);"
       "create index on outbox (created_at) where published_at is null; alter table outbox add schema_version int",
       "insert into outbox (aggregate_id, event_type, payload) values (md5($1)::uuid, 'T', $2)",
       mapping("outbox", {{"type", "event_type"}}, {{"aggregate_type", "order"}}), SentMode::mark, true},
      {"Debezium",
       "create table outbox (id uuid not null primary key, aggregatetype varchar(255) not null, aggregateid "
       "varchar(255)"
       " not null, type varchar(255) not null, payload jsonb)",
       "insert into outbox values (gen_random_uuid(), 'order', $1, 'T', $2)", deleting(mapping("outbox", {})),
       SentMode::remove, false},
      {"AWithPosition",
       "create table outbox (id uuid primary key, aggregatetype varchar(255) not null, aggregateid varchar(255) not "
       "null,"
       " type varchar(255) not null, payload text not null, published_at timestamptz, xid xid8 not null default"
       " pg_current_xact_id(), seq bigint generated always as identity);"
       "create index on outbox (seq, xid); create index on outbox (xid, seq)",
       "insert into outbox (id, aggregatetype, aggregateid, type, payload) values (gen_random_uuid(), 'order', $1, 'T',"
       " $2)",
       mapping("outbox", {}), SentMode::keep, true},
  };
  return kTables;
}

class PostgresTables : public testing::TestWithParam<std::tuple<std::size_t, Service>> {
 protected:
  void SetUp() override {
    OUTBOX_REQUIRE_SERVICE(server, std::get<1>(GetParam()));
    database_ = std::make_unique<PostgresDatabase>(server);
    database_->execute(table().ddl);
    InitOptions options;
    options.table = table().mapping.table;
    must(init_postgres(database_->url(), options));
  }
  const Table& table() const { return tables().at(std::get<0>(GetParam())); }

  void insert(int count, int keys) {
    for (int i = 0; i < count; ++i) {
      database_->query(table().insert, {"k" + std::to_string(i % keys), "{\"n\": " + std::to_string(i) + "}"});
    }
  }
  // Columns, types, defaults, constraints and indexes.
  std::string definition() {
    const auto name = table().mapping.table;
    return database_->value(
        "select string_agg(line, E'\\n' order by line) from (select attname || format_type(atttypid, atttypmod) ||"
        " attnotnull || coalesce(pg_get_expr(adbin, adrelid), '') as line from pg_attribute left join pg_attrdef on"
        " adrelid = attrelid and adnum = attnum where attrelid = '" +
        name + "'::regclass and attnum > 0 union all select indexdef from pg_indexes where tablename = '" + name +
        "' union all select pg_get_constraintdef(oid) from pg_constraint where conrelid = '" + name + "'::regclass) t");
  }

  std::unique_ptr<PostgresDatabase> database_;
};

// What stands in the row when it is marked was not sent.
TEST_P(PostgresTables, WhatWasChangedOrReplacedInFlightIsReadAgain) {
  if (table().sent == SentMode::keep) return;  // nothing is marked there
  insert(3, 3);
  PostgresRelay relay(database_->url(), table().mapping);
  const auto read = relay.step(100, false);
  ASSERT_EQ(read.size(), 3u);
  const auto& name = table().mapping.table;
  const auto of = [&](const RecordPtr& record) {
    return " where " + relay.shape().table.columns.at("id") + " = '" + record->id + "'";
  };
  database_->execute("update " + name + " set payload = '{\"n\": 9}'" + of(read[0]));
  database_->execute("create table replaced as select * from " + name + of(read[1]) + "; delete from " + name +
                     of(read[1]) + "; insert into " + name + " select * from replaced");
  SettleBatch batch;
  batch.settled = read;
  relay.settle(batch);
  relay.start();
  std::map<std::string, std::string> again;
  for (const auto& record : relay.drain()) again[record->id] = record->payload;
  EXPECT_EQ(again, (std::map<std::string, std::string>{{read[0]->id, "{\"n\": 9}"}, {read[1]->id, read[1]->payload}}));
  relay.start();
  EXPECT_TRUE(relay.drain().empty());
}

// A mark that the database accepts and that takes no effect is no mark: the row would be sent again at each sweep.
TEST_P(PostgresTables, AMarkWithoutEffectIsRefused) {
  if (table().sent == SentMode::keep) return;  // nothing is marked there
  insert(3, 3);
  PostgresRelay relay(database_->url(), table().mapping);
  const auto read = relay.step(10, false);
  ASSERT_EQ(read.size(), 3u);
  const auto on = " on " + table().mapping.table;
  database_->execute(
      "create function keep() returns trigger language plpgsql as $$ begin return null; end $$;"
      "create trigger keep before update or delete" +
      on + " for each row when (old." + relay.shape().table.columns.at("id") + " = '" + read[1]->id +
      "') execute function keep()");
  const auto refusal = [&](const SettleBatch& batch) {
    const auto settled = relay.store().settle(relay.feed(), relay.state().epoch, batch);
    return settled ? "none" : settled.failure().what;
  };
  SettleBatch batch;
  batch.settled = read;
  for (int i = 0; i < 2; ++i) EXPECT_NE(refusal(batch).find("left the row as it was"), std::string::npos);
  relay.start();
  EXPECT_EQ(ids_of(relay.step(10, false)), std::vector<std::string>{read[1]->id});
  batch.settled = {read[1]};
  Park park;
  park.record = read[1];
  park.sink = "events";
  batch.parks = {park};
  EXPECT_NE(refusal(batch).find("left the row as it was"), std::string::npos);
  EXPECT_EQ(must(relay.store().parking("events", {})).counts.waiting, 0);
  database_->execute("drop trigger keep" + on);
  EXPECT_EQ(refusal(batch), "none");
  EXPECT_EQ(must(relay.store().parking("events", {})).counts.waiting, 1);
  relay.start();
  EXPECT_TRUE(relay.drain().empty());
}

TEST_P(PostgresTables, DrainUnalteredOnceAndInOrder) {
  const auto before = definition();
  insert(300, 10);
  PostgresRelay relay(database_->url(), table().mapping);
  EXPECT_EQ(relay.shape().table.sent, table().sent);
  const auto records = relay.drain(37);
  std::set<std::string> ids;
  std::map<std::string, int> last;
  for (const auto& record : records) {
    EXPECT_TRUE(ids.insert(record->id).second);
    EXPECT_EQ(record->aggregate_type, "order");
    EXPECT_EQ(record->type, "T");
    const auto n = std::stoi(record->payload.substr(6));
    const auto found = last.find(record->key);
    EXPECT_TRUE(!table().ordered || found == last.end() || n > found->second) << record->key << ' ' << n;
    last[record->key] = n;
  }
  EXPECT_EQ(ids.size(), 300u);
  EXPECT_EQ(last.size(), 10u);
  EXPECT_EQ(definition(), before);
  insert(3, 3);
  std::size_t more = 0;
  EXPECT_TRUE(eventually(std::chrono::seconds(60), [&] { return (more += relay.drain().size()) == 3; })) << more;
}

TEST_P(PostgresTables, WhatIsNotSettledComesAgain) {
  insert(10, 2);
  PostgresRelay relay(database_->url(), table().mapping);
  EXPECT_EQ(relay.step(4, false).size(), 4u);
  relay.start();
  EXPECT_EQ(relay.drain(3).size(), 10u);
}

TEST_P(PostgresTables, ParkingSettlesTheRowInTheSameTransaction) {
  insert(2, 2);
  PostgresRelay relay(database_->url(), table().mapping);
  const auto page = relay.step(10, false);
  ASSERT_EQ(page.size(), 2u);
  SettleBatch batch;
  Park park;
  park.record = page[0];
  park.sink = "events";
  park.next_attempt = relay.state().database_now;
  park.reason = "http_500";
  batch.parks = {park};
  if (!relay.feed().positions) batch.settled = page;
  relay.settle(batch);
  const auto facts = must(relay.store().page_facts("events", {page[0]->key}, {page[0]->id, page[1]->id}));
  EXPECT_EQ(facts.waiting_keys, std::vector<std::string>{page[0]->key});
  EXPECT_EQ(facts.known_messages, std::vector<std::string>{page[0]->id});
  relay.start();
  EXPECT_EQ(relay.drain().size(), relay.feed().positions ? 2u : 0u);
  const auto due = must(relay.store().due("events", {}, 10, 10, {}));
  ASSERT_EQ(due.size(), 1u);
  EXPECT_EQ(due[0].deliveries.at(0).record->payload, page[0]->payload);
}

// Case B047, from the store's side: a trigger refuses the mark, nothing of the batch is written, and it can be
// repeated.
TEST_P(PostgresTables, AMarkThatIsRefusedWritesNothing) {
  if (table().sent == SentMode::keep) return;  // nothing is marked in this table
  insert(1, 1);
  PostgresRelay relay(database_->url(), table().mapping);
  const auto page = relay.step(10, false);
  const auto on = " on " + table().mapping.table;
  database_->execute(
      "create function refuse() returns trigger language plpgsql as $$ begin raise exception 'not now';"
      " end $$; create trigger refuse before update or delete" +
      on + " for each row execute function refuse()");
  SettleBatch batch;
  batch.settled = page;
  Park park;
  park.record = page.at(0);
  park.sink = "events";
  batch.parks = {park};
  for (int i = 0; i < 3; ++i) {
    const auto settled = relay.store().settle(relay.feed(), relay.state().epoch, batch);
    ASSERT_FALSE(settled);
    EXPECT_NE(settled.failure().what.find("not now"), std::string::npos) << settled.failure().what;
    EXPECT_EQ(must(relay.store().parking("events", {})).counts.waiting, 0);
  }
  database_->execute("drop trigger refuse" + on);
  relay.settle(batch);
  relay.start();
  EXPECT_TRUE(relay.drain().empty());
}

TEST_P(PostgresTables, AStaleOwnerMarksNothing) {
  insert(1, 1);
  PostgresRelay old(database_->url(), table().mapping);
  const auto page = old.step(10, false);
  PostgresRelay owner(database_->url(), table().mapping);
  SettleBatch batch;
  if (old.feed().positions) {
    batch.position = Position{"9:9:", "", 1, {}};
  } else {
    batch.settled = page;
  }
  const auto settled = old.store().settle(old.feed(), old.state().epoch, batch);
  ASSERT_FALSE(settled);
  EXPECT_EQ(settled.failure().kind, FailureKind::fenced);
  EXPECT_EQ(owner.drain().size(), 1u);
}

std::string shape_name(const testing::TestParamInfo<std::tuple<std::size_t, Service>>& info) {
  const bool debian = std::get<1>(info.param) == Service::postgresql;
  return tables().at(std::get<0>(info.param)).name + (debian ? "_debian" : "_newest");
}

INSTANTIATE_TEST_SUITE_P(Shapes, PostgresTables, testing::Combine(testing::Range<std::size_t>(0, 6), both_servers()),
                         shape_name);

class PostgresFlagged : public PostgresTest {
 protected:
  void make(const std::string& created = "timestamptz default now()") {
    database_->execute(
        "create table events (id bigint generated always as identity primary key, aggregatetype text default"
        " 'o', aggregateid text default '1', type text default 'T', payload bytea default '\\x00ff7b',"
        " created_at " +
        created + ", published_at timestamptz)");
    InitOptions options;
    options.table = "events";
    must(init_postgres(url(), options));
  }
};

TEST_P(PostgresFlagged, ASweepFindsWhatCommittedBelowTheMark) {
  make();
  PostgresRelay relay(url(), mapping("events", {}));
  database_->execute("insert into events (created_at) values (now())");
  EXPECT_EQ(relay.drain().size(), 1u);
  database_->execute("insert into events (created_at) values (now() - interval '1 hour')");
  EXPECT_TRUE(eventually(std::chrono::seconds(60), [&] { return relay.drain().size() == 1; }));
}

TEST_P(PostgresFlagged, RowsWithoutATimeAreNotForgotten) {
  make();
  database_->execute("insert into events (created_at) select null from generate_series(1, 5)");
  database_->execute("insert into events (created_at) select now() from generate_series(1, 5)");
  PostgresRelay relay(url(), mapping("events", {}));
  const auto records = relay.drain(2);
  EXPECT_EQ(records.size(), 10u);
  EXPECT_EQ(records.at(0)->payload, std::string("\x00\xff{", 3));
  EXPECT_FALSE(records.at(0)->payload_json);
}

// A row that cannot be named cannot be marked either: it would go out again at each sweep.
TEST_P(PostgresFlagged, RowsWithoutAnIdAreNotSent) {
  for (const std::string type : {"uuid", "text"}) {
    database_->execute("drop table if exists events");
    database_->execute("create table events (id " + type +
                       ", aggregatetype text default 'o', aggregateid text default '1', type text default 'T', payload"
                       " text default 'p', created_at timestamptz default now(), published_at timestamptz)");
    InitOptions options;
    options.table = "events";
    must(init_postgres(url(), options));
    database_->execute("insert into events (id) values (null), (null)");
    if (type == "text") database_->execute("insert into events (id) values (''), ('')");
    database_->execute("insert into events (id) select gen_random_uuid() from generate_series(1, 5)");
    PostgresRelay relay(url(), mapping("events", {}));
    EXPECT_EQ(relay.drain(2).size(), 5u) << type;
    EXPECT_EQ(must(relay.store().status({relay.feed()})).unsent, type == "text" ? 4 : 2);
  }
}

// A number that is not drawn, like a version of each aggregate, is no position.
TEST_P(PostgresFlagged, NumbersThatCanRepeatAreRefusedAsAPosition) {
  make();
  database_->execute("alter table events add xid xid8 not null default pg_current_xact_id(), add seq bigint");
  const auto refusal = [&] {
    const auto shape = inspect_postgres_table(url(), mapping("events", {}));
    return shape ? "none" : shape.failure().what;
  };
  EXPECT_NE(refusal().find(R"(alter column "seq" set not null)"), std::string::npos) << refusal();
  database_->execute("alter table events alter column seq set not null");
  EXPECT_NE(refusal().find(R"(add unique ("seq"))"), std::string::npos) << refusal();
  database_->execute("alter table events add unique (seq)");
  EXPECT_EQ(refusal(), "none");
  database_->execute("alter table events drop seq, add seq bigserial");
  EXPECT_EQ(refusal(), "none");
}

// Cases B045, B107: neither the session's time zone nor the date matters; a time without a zone is UTC.
TEST_P(PostgresFlagged, TimesAreUtcWhateverTheServersTimeZone) {
  database_->execute("alter database \"" + database_->name() + "\" set timezone = 'Asia/Kolkata'");
  make("timestamp");
  database_->execute("insert into events (created_at) values ('2026-01-31 23:59:50'), ('2026-02-01 00:00:01')");
  PostgresRelay relay(url(), mapping("events", {}));
  const auto records = relay.drain();
  ASSERT_EQ(records.size(), 2u);
  const auto midnight = std::chrono::sys_days(std::chrono::year(2026) / 2 / 1);
  EXPECT_EQ(records[0]->created_at, midnight - 10s);
  EXPECT_EQ(records[1]->created_at, midnight + 1s);
}

TEST_P(PostgresFlagged, MarkedRowsGoByRetentionOnlyIfItIsSaid) {
  make();
  database_->execute("insert into events (created_at) select now() from generate_series(1, 5)");
  PostgresRelay relay(url(), mapping("events", {}));
  relay.drain();
  database_->execute("insert into events (created_at) values (now())");
  EXPECT_EQ(must(relay.store().prune({relay.feed()}, {}, 100, false)), 0);
  EXPECT_EQ(must(relay.store().status({relay.feed()})).unsent, 1);
  database_->execute("update events set published_at = published_at - interval '1 hour'");
  EXPECT_EQ(must(relay.store().prune({relay.feed()}, {60s, {}}, 3, false)), 3);
  EXPECT_EQ(must(relay.store().prune({relay.feed()}, {60s, {}}, 100, true)), 2);
  EXPECT_EQ(must(relay.store().prune({relay.feed()}, {60s, {}}, 100, false)), 2);
  EXPECT_EQ(database_->value("select count(*) from events"), "1");
}

INSTANTIATE_TEST_SUITE_P(Both, PostgresFlagged, both_servers(), server_name);

}  // namespace
}  // namespace outbox::test
