#include <algorithm>
#include <thread>

#include "integration/postgres_relay.h"

namespace outbox::test {
namespace {

class PostgresSchema : public PostgresTest {};

TEST_P(PostgresSchema, InitTwiceIsInitOnce) {
  EXPECT_EQ(must(init_postgres(url(), {})).applied.size(), 7u);
  const auto again = must(init_postgres(url(), {}));
  EXPECT_TRUE(again.applied.empty());
  EXPECT_EQ(again.version, 7);
}

TEST_P(PostgresSchema, TwoInitsAtOnceTakeTurns) {
  std::vector<std::size_t> applied(4);
  {
    std::vector<std::jthread> threads;
    for (auto& count : applied) {
      threads.emplace_back([&] { count = must(init_postgres(url(), {})).applied.size(); });
    }
  }
  std::sort(applied.begin(), applied.end());
  EXPECT_EQ(applied, (std::vector<std::size_t>{0, 0, 0, 7}));
}

TEST_P(PostgresSchema, DownLeavesNothing) {
  InitOptions options;
  options.table = "shop.billing_outbox";
  must(init_postgres(url(), options));
  EXPECT_EQ(must(drop_postgres(url(), options)).applied,
            (std::vector<std::string>{"0007_long_ids", "0006_ahead", "0005_forwarding", "0004_leases",
                                      "0003_operations", "0002_state", "0001_outbox"}));
  EXPECT_EQ(database_->value("select count(*) from pg_class where relname like '%outbox%'"), "0");
  EXPECT_EQ(database_->value("select count(*) from pg_proc where proname like '%outbox%'"), "0");
}

TEST_P(PostgresSchema, PrefixAndSchemaWorkThroughout) {
  for (const std::string table : {"shop.billing_outbox", "Odd_outbox"}) {
    InitOptions options;
    options.table = table;
    must(init_postgres(url(), options));
    TableMapping mapping;
    mapping.table = table;
    PostgresRelay relay(url(), mapping);
    const auto function = table == "Odd_outbox" ? std::string("\"Odd_outbox_send\"") : "shop.billing_outbox_send";
    database_->execute("select " + function + "('order', '1', 'T', '{}')");
    EXPECT_EQ(relay.drain().size(), 1u) << table;
  }
}

TEST_P(PostgresSchema, WhatPrintShowsIsWhatInitDoes) {
  const auto fingerprint = [](PostgresDatabase& database) {
    return database.value(
        "select string_agg(t.line, E'\\n' order by t.line) from (select c.relname || ' ' || a.attname || ' ' ||"
        " format_type(a.atttypid, a.atttypmod) || a.attnotnull as line from pg_class c join pg_attribute a on"
        " a.attrelid = c.oid where c.relname like 'outbox%' and a.attnum > 0 union all select prosrc from pg_proc"
        " where proname = 'outbox_send') t");
  };
  for (const std::string payload : {"json", "jsonb", "bytea"}) {
    InitOptions options;
    options.payload = payload;
    PostgresDatabase printed(*find_service(GetParam())), made(*find_service(GetParam()));
    printed.execute(must(postgres_schema_sql(options)));
    must(init_postgres(made.url(), options));
    EXPECT_EQ(fingerprint(printed), fingerprint(made)) << payload;
    EXPECT_TRUE(must(init_postgres(printed.url(), options)).applied.empty()) << payload;
  }
}

TEST_P(PostgresSchema, AForeignTableIsLeftAlone) {
  database_->execute("create table outbox (id uuid primary key, kind text, published_at timestamptz)");
  const auto report = must(init_postgres(url(), {}));
  EXPECT_EQ(report.applied, (std::vector<std::string>{"0002_state", "0003_operations", "0004_leases", "0005_forwarding",
                                                      "0006_ahead", "0007_long_ids"}));
  EXPECT_TRUE(must(init_postgres(url(), {})).applied.empty());
  EXPECT_EQ(database_->value("select count(*) from pg_attribute where attrelid = 'outbox'::regclass and attnum > 0"),
            "3");
  EXPECT_EQ(must(drop_postgres(url(), {})).applied,
            (std::vector<std::string>{"0007_long_ids", "0006_ahead", "0005_forwarding", "0004_leases",
                                      "0003_operations", "0002_state"}));
  EXPECT_EQ(database_->value("select count(*) from outbox"), "0");
}

TEST_P(PostgresSchema, SendValidatesHeadersAndKeepsBytes) {
  init();
  const auto sent = [&](const std::string& headers) {
    database_->query("select outbox_send('o', '1', 'T', '{}', $1::jsonb)", {headers});
  };
  sent(R"({"a":"b","c":["d","e"],"f":[]})");
  for (const auto* wrong : {R"([])", R"("a")", R"({"a":1})", R"({"a":null})", R"({"a":["b",1]})", R"({"":"b"})"}) {
    EXPECT_THROW(sent(wrong), std::runtime_error) << wrong;
  }
  // Cases B001, B003.
  for (const std::string body : {R"({"s":"a\u0000b"})", R"({"zebra":1,"alpha":2,"bb":3,"a":4,"a":5})"}) {
    send("2", body);
    EXPECT_EQ(database_->value("select payload::text from outbox order by seq desc limit 1"), body);
  }
  const std::string id = "6ba7b810-9dad-11d1-80b4-00c04fd430c8";
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(database_->value("select outbox_send('o', '1', 'T', '{}', id => '" + id + "')"), id);
  }
  EXPECT_EQ(database_->value("select count(*) from outbox where id = '" + id + "'"), "1");
}

TEST_P(PostgresSchema, LanesFollowTheTestVectors) {
  init();
  for (const auto* key : {"1", "4711", "\xC3\xBC"}) send(key);
  // md5 of order:1 begins with 45c4, of order:4711 and order:ü with what the database says of their bytes.
  EXPECT_EQ(
      database_->value("select string_agg(lane::text, ' ' order by seq) from outbox"),
      database_->value("select string_agg((get_byte(d, 0) * 256 + get_byte(d, 1)) % 64 || '', ' ' order by n) from"
                       " (select n, decode(md5(convert_to('order:' || k, 'UTF8')), 'hex') as d from"
                       " unnest(array['1', '4711', '\xC3\xBC']) with ordinality as u (k, n)) x"));
}

TEST_P(PostgresSchema, ADatabaseWithoutOurTablesSaysWhatToDo) {
  database_->execute(
      "create table outbox (id uuid, aggregatetype text, aggregateid text, type text, payload json,"
      " published_at timestamptz)");
  TableMapping mapping;
  const auto shape = must(inspect_postgres_table(url(), mapping));
  const auto state = make_postgres_store(url(), shape.table)->take_over({"*", {"a"}, false, true}, "r");
  ASSERT_FALSE(state);
  EXPECT_EQ(state.failure().kind, FailureKind::invalid);
  EXPECT_NE(state.failure().what.find("outboxd init"), std::string::npos) << state.failure().what;
}

TEST(PostgresFailures, NeverHoldThePassword) {
  OUTBOX_REQUIRE_SERVICE(server, Service::postgresql);
  const auto at = server.find("127.0.0.1");
  const auto place = server.substr(at);
  const auto kind_of = [](const std::string& url, FailureKind kind) {
    const auto made = init_postgres(url, {});
    ASSERT_FALSE(made) << url;
    EXPECT_EQ(made.failure().kind, kind) << made.failure().what;
    EXPECT_EQ(made.failure().what.find("hunter2"), std::string::npos) << made.failure().what;
  };
  kind_of("postgresql://nobody-here:hunter2@" + place, FailureKind::refused);
  kind_of("postgresql://postgres:hunter2@127.0.0.1:1/x", FailureKind::unavailable);
  kind_of("postgresql://postgres:hunter2@" + place.substr(0, place.find('/')) + "/no_such_database",
          FailureKind::invalid);
  kind_of("postgresql://postgres:hunter2@[broken", FailureKind::invalid);
  kind_of("postgresql://postgres:p%zzhunter2@localhost/x", FailureKind::invalid);
}

INSTANTIATE_TEST_SUITE_P(Both, PostgresSchema, both_servers(), server_name);

}  // namespace
}  // namespace outbox::test
