// The outbox tables that people have, as they are: 10,000 rows each, in transactions of their own, drained by the real
// daemon to Kafka and to a file.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "support/daemon.h"
#include "support/json_lines.h"
#include "support/kafka_topic.h"
#include "support/postgres_database.h"
#include "support/services.h"

namespace outbox::test {
namespace {

using namespace std::chrono_literals;

constexpr int kRows = 10'000;
constexpr int kKeys = 100;

struct Shape {
  std::string name;
  std::string table;
  std::string ddl;
  std::string insert;  // of the key k and the number i
  std::string mapping;
  bool ordered;
  bool deletes;
};

void PrintTo(const Shape& shape, std::ostream* out) { *out << shape.name; }

const std::vector<Shape>& shapes() {
  static const std::string payload = "jsonb_build_object('n', i, 'text', repeat('x', 200))";
  static const std::vector<Shape> kShapes{
      {"RetryColumns", "outbox",
       "create table outbox (id uuid primary key, aggregatetype varchar(255) not null, aggregateid varchar(255) not "
       "null,"
       " type varchar(255) not null, payload jsonb not null, created_at timestamptz not null default now(), "
       "published_at"
       " timestamptz, attempts int not null default 0, next_attempt_at timestamptz not null default now(), last_error "
       "text);"
       "create index on outbox (next_attempt_at) where published_at is null",
       "insert into outbox (id, aggregatetype, aggregateid, type, payload) values (gen_random_uuid(), 'order', k, "
       "'T', " +
           payload + ")",
       "columns: { order: created_at }", true, false},
      {"Plain", "outbox",
       "create table outbox (id uuid, aggregate_type text, aggregate_id text, event_type text, payload json, created_at"
       " timestamptz, published_at timestamptz)",
       "insert into outbox values (gen_random_uuid(), 'order', k, 'T', " + payload + ", clock_timestamp())",
       "columns: { aggregate_type: aggregate_type, aggregate_id: aggregate_id, type: event_type, order: created_at }",
       true, false},
      {"Leases", "outbox_events",
       "create table outbox_events (event_id uuid primary key default gen_random_uuid(), aggregate_type text not null,"
       " aggregate_id text not null, aggregate_version bigint, event_type text not null, payload jsonb not null, "
       "created_at"
       " timestamptz not null default clock_timestamp(), published_at timestamptz, lease_token text, lease_until"
       " timestamptz, attempts int not null default 0);"
       "create index on outbox_events (created_at, event_id) where published_at is null",
       "insert into outbox_events (aggregate_type, aggregate_id, aggregate_version, event_type, payload) values "
       "('order',"
       " k, i, 'T', " +
           payload + ")",
       "columns: { id: event_id, aggregate_type: aggregate_type, aggregate_id: aggregate_id, aggregate_version:"
       " aggregate_version, type: event_type, order: created_at }",
       true, false},
      {"Minimal", "outbox",
       "create table outbox (id uuid primary key default gen_random_uuid(), aggregate_id uuid not null, event_type"
       " varchar(100) not null, payload jsonb not null, created_at timestamptz not null default now(), published_at"
       " timestamptz); create index on outbox (created_at) where published_at is null",
       "insert into outbox (aggregate_id, event_type, payload) values (md5(k)::uuid, 'T', " + payload + ")",
       "columns: { aggregate_id: aggregate_id, type: event_type, order: created_at }\n  constants: { aggregate_type: "
       "order }",
       true, false},
      {"DebeziumDefault", "outbox",
       "create table outbox (id uuid not null primary key, aggregatetype varchar(255) not null, aggregateid "
       "varchar(255)"
       " not null, type varchar(255) not null, payload jsonb)",
       "insert into outbox values (gen_random_uuid(), 'order', k, 'T', " + payload + ")", "sent: delete", false, true},
  };
  return kShapes;
}

struct Arrival {
  std::string id;
  std::string key;
  int n;
};

// {"n": 17, …
int number_of(const std::string& payload) { return std::stoi(payload.substr(payload.find(':') + 1)); }

class DaemonTables : public testing::TestWithParam<Shape> {
 protected:
  void SetUp() override {
    OUTBOX_REQUIRE_SERVICE(server, Service::postgresql);
    OUTBOX_REQUIRE_SERVICE(brokers, Service::kafka);
    database_ = std::make_unique<PostgresDatabase>(server);
    topic_ = std::make_unique<KafkaTopic>(brokers, "shape", 3);
    database_->execute(GetParam().ddl);
    daemon_.configure("database: \"" + database_->url() + "\"\noutbox:\n  table: " + GetParam().table + "\n  " +
                      GetParam().mapping + "\nsinks:\n  events: { type: kafka, brokers: [ \"" + brokers +
                      "\" ] }\n  audit: { type: file, path: audit.jsonl }\nroutes:\n  - { sink: events, topic: \"" +
                      topic_->name() + "\" }\n  - { sink: audit }\n");
  }

  // Every row in a transaction of its own, one after the other, so that each has a time of its own.
  void fill() {
    database_->execute("create procedure fill() language plpgsql as $$ declare k text; begin for i in 1.." +
                       std::to_string(kRows) + " loop k := 'k' || i % " + std::to_string(kKeys) + "; " +
                       GetParam().insert + "; commit; end loop; end $$");
    database_->execute("set synchronous_commit = off");
    database_->execute("call fill()");
    database_->execute("drop procedure fill");
  }

  std::string definition() {
    ChildProcess dump({"pg_dump", "--schema-only", "--table=" + GetParam().table, database_->url()});
    const auto ended = dump.wait(60s);
    EXPECT_TRUE(ended && ended->succeeded()) << dump.standard_error();
    std::string text;
    for (const std::string& line : lines_of(dump.standard_output())) {
      if (line.find("restrict ") == std::string::npos)
        text += line + "\n";  // \restrict has a token of its own each time
    }
    return text;
  }

  void expect_all(const std::vector<Arrival>& arrivals) {
    std::set<std::string> ids;
    std::map<std::string, int> last;
    int inversions = 0;
    for (const Arrival& arrival : arrivals) {
      EXPECT_TRUE(ids.insert(arrival.id).second) << arrival.id << " came twice";
      auto& before = last[arrival.key];
      if (arrival.n <= before) ++inversions;
      before = arrival.n;
    }
    EXPECT_EQ(ids.size(), static_cast<std::size_t>(kRows));
    EXPECT_EQ(last.size(), static_cast<std::size_t>(kKeys));
    EXPECT_TRUE(inversions == 0 || !GetParam().ordered) << inversions;
  }

  std::unique_ptr<PostgresDatabase> database_;
  std::unique_ptr<KafkaTopic> topic_;
  Daemon daemon_;
};

TEST_P(DaemonTables, DrainToKafkaAndToAFileUnaltered) {
  const std::string before = definition();
  ASSERT_NE(before.find("CREATE TABLE"), std::string::npos);
  const Ran init = daemon_.run({"init"});
  ASSERT_EQ(init.code, 0) << init.err;
  fill();
  const Ran once = daemon_.run({"run", "--once"});
  EXPECT_EQ(once.code, 0) << once.err;

  std::vector<Arrival> in_kafka;
  for (const auto& message : topic_->read()) {
    in_kafka.push_back({message.header("message-id"), *message.key, number_of(*message.value)});
  }
  expect_all(in_kafka);
  std::vector<Arrival> in_file;
  for (const auto& line : parse_json_lines(read_file(daemon_.file("audit.jsonl")))) {
    in_file.push_back({line.id, line.aggregate_id, number_of(line.payload)});
  }
  expect_all(in_file);

  const std::string table = GetParam().table;
  EXPECT_EQ(database_->value("select count(*) from " + table), GetParam().deletes ? "0" : std::to_string(kRows));
  if (!GetParam().deletes) {
    EXPECT_EQ(database_->value("select count(*) from " + table + " where published_at is null"), "0");
  }
  EXPECT_EQ(database_->value("select count(*) from outbox_delivery where state in ('waiting', 'dead')"), "0");
  EXPECT_EQ(definition(), before);
  const bool says_no_order = once.err.find("no order") != std::string::npos;
  EXPECT_EQ(says_no_order, !GetParam().ordered) << once.err;
  EXPECT_EQ(daemon_.run_once().code, 0);
  EXPECT_EQ(topic_->count(), kRows);
}

INSTANTIATE_TEST_SUITE_P(Shapes, DaemonTables, testing::ValuesIn(shapes()),
                         [](const testing::TestParamInfo<Shape>& shape) { return shape.param.name; });

}  // namespace
}  // namespace outbox::test
