// enqueue on real servers, with libpq and libpqxx: what arrives in the table, and what is left of the transaction.
#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "client/json_samples.h"
#include "client/json_text.h"
#include "integration/enqueue_fixture.h"
#include "support/eventually.h"

namespace outbox::test {
namespace {

using namespace std::chrono_literals;

const std::string kTraceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

TEST_P(EnqueuePostgres, StoresEveryField) {
  start();
  Message message = order();
  message.id = "0190B8F0-0000-7000-8000-00000000ABCD";
  message.headers = {{"tag", "a"}, {"tenant", "n\xc3\xb6rd"}, {"tag", "b"}};
  message.schema_version = -3;
  message.aggregate_version = 9'000'000'000;
  message.traceparent = kTraceparent;
  message.not_before = std::chrono::sys_days(std::chrono::year(2031) / 2 / 3) + 4h + 5us;
  application().begin();
  application().execute("set local time zone 'Asia/Kolkata'");
  const Enqueued enqueued = application().enqueue(message);
  application().commit();

  EXPECT_EQ(enqueued.id, "0190b8f0-0000-7000-8000-00000000abcd");
  EXPECT_FALSE(enqueued.duplicate);
  EXPECT_EQ(
      database().value("select concat_ws('|', id, aggregatetype, aggregateid, type, payload, headers->>'tenant',"
                       " headers->'tag', schema_version, aggregate_version, traceparent,"
                       " extract(epoch from not_before)::numeric(20, 6)) from outbox"),
      "0190b8f0-0000-7000-8000-00000000abcd|order|4711|OrderConfirmed|{}|n\xc3\xb6rd|[\"a\", \"b\"]|-3|9000000000|" +
          kTraceparent + "|1927857600.000005");
}

TEST_P(EnqueuePostgres, LeavesOutWhatIsNotThere) {
  start();
  application().begin();
  application().enqueue(order());
  application().commit();
  EXPECT_EQ(count("outbox where schema_version is null and aggregate_version is null and traceparent is null"
                  " and not_before is null and headers = '{}' and created_at is not null"),
            "1");
}

// Cases B001, B003, and text beyond the basic plane.
TEST_P(EnqueuePostgres, KeepsTheBytesOfJson) {
  start();
  std::string emoji = "\"";
  for (int i = 0; i < 2000; ++i) emoji += "\xf0\x9f\x98\x80";
  emoji += '"';
  const std::vector<std::string> bodies = {R"({"s":"a\u0000b"})", R"({"zebra":1,"alpha":2,"bb":3,"a":4,"a":5})", emoji,
                                           " [ 1.0 , 1e400,\n 0.10 ]\t", R"("\ud83d")"};
  EXPECT_EQ(bodies[0].size(), 16U);
  EXPECT_EQ(bodies[1].size(), 40U);
  std::vector<Message> messages;
  messages.reserve(bodies.size());
  for (const auto& body : bodies) messages.push_back(order(body));
  application().begin();
  application().enqueue(messages);
  application().commit();
  EXPECT_EQ(payloads(), bodies);
}

TEST_P(EnqueuePostgres, KeepsAnyBytesInBytea) {
  start("bytea");
  std::string all;
  for (int i = 0; i < 256; ++i) all += static_cast<char>(i);
  const std::vector<Message> messages{bytes(all), bytes(""), bytes("\\x41"), order(R"({"s":"a\u0000b\\"})")};
  application().begin();
  application().enqueue(messages);
  application().commit();
  EXPECT_EQ(payloads(), (std::vector<std::string>{all, "", "\\x41", R"({"s":"a\u0000b\\"})"}));
}

TEST_P(EnqueuePostgres, ADuplicateIsAResult) {
  start();
  Message first = order();
  first.id = make_message_id();
  application().begin();
  EXPECT_FALSE(application().enqueue(first).duplicate);
  EXPECT_TRUE(application().enqueue(first).duplicate);
  application().commit();

  Message other = order();
  other.id = make_message_id();
  application().begin();
  application().execute("insert into business (note) values ('kept')");
  const auto results = application().enqueue(std::vector<Message>{other, first, order(), other, order()});
  application().commit();
  const std::vector<bool> expected{false, true, false, true, false};
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(results[i].duplicate, expected[i]) << i;
  EXPECT_EQ(results[0].id, other.id);
  EXPECT_EQ(count("outbox"), "4");
  EXPECT_EQ(count("business"), "1");
}

// Case B009: the first of two with one id counts.
TEST_P(EnqueuePostgres, TheSameIdTwiceInOneCallIsOneMessage) {
  start();
  std::vector<Message> messages{order("1"), order("2")};
  messages[0].id = "0190b8f0-0000-7000-8000-00000000abcd";
  messages[1].id = "0190B8F0-0000-7000-8000-00000000ABCD";
  for (const char* isolation : {"read committed", "repeatable read"}) {
    database().execute("delete from outbox");
    application().begin(isolation);
    const auto results = application().enqueue(messages);
    application().commit();
    EXPECT_FALSE(results[0].duplicate);
    EXPECT_TRUE(results[1].duplicate);
    EXPECT_EQ(payloads(), std::vector<std::string>{"1"}) << isolation;
  }
}

TEST_P(EnqueuePostgres, ADuplicateBeyondTheSnapshotAsksForARetry) {
  start();
  Message message = order();
  message.id = make_message_id();
  application().begin("repeatable read");
  application().execute("select count(*) from business");
  database().execute("insert into outbox (id, aggregatetype, aggregateid, type, payload) values ('" + message.id +
                     "', 'order', '1', 'x', '{}')");
  try {
    application().enqueue(message);
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.sql_state(), "40001");
    EXPECT_TRUE(error.retryable());
    EXPECT_TRUE(error.poisons_transaction());
    EXPECT_NE(std::string(error.what()).find("retry the transaction"), std::string::npos) << error.what();
  }
  application().rollback();
  application().begin("repeatable read");
  EXPECT_TRUE(application().enqueue(message).duplicate);
  application().commit();
}

TEST_P(EnqueuePostgres, ARefusalLeavesTheTransactionUsable) {
  start();
  EnqueueOptions small;
  small.max_payload = 1;
  EnqueueOptions no_table;
  no_table.table = "no_such_outbox";
  EnqueueOptions no_schema;
  no_schema.table = "no_such_schema.outbox";
  EnqueueOptions no_outbox;
  no_outbox.table = "business";
  Message not_a_uuid = order();
  not_a_uuid.id = "m-1";

  expect_harmless([&] { application().enqueue(order("{")); }, "not JSON");
  expect_harmless([&] { application().enqueue(order(std::string("\"\0\"", 3))); }, "not JSON");
  expect_harmless([&] { application().enqueue(not_a_uuid); }, "UUID");
  expect_harmless([&] { application().enqueue(order(), small); }, "2 bytes, the limit is 1");
  expect_harmless([&] { application().enqueue(order(), no_table); }, "outboxd init");
  expect_harmless([&] { application().enqueue(order(), no_schema); }, "outboxd init");
  expect_harmless([&] { application().enqueue(order(), no_outbox); }, "payload column");
  expect_harmless([&] { application().enqueue(bytes("\x01")); }, "init --payload bytea");
  expect_harmless(
      [&] {
        application().enqueue(std::vector<Message>{order(), order(), bytes("{}")});
      },
      "message 3 of 3");
  EXPECT_EQ(count("outbox"), "0");
}

TEST_P(EnqueuePostgres, MissingPrivilegesLeaveTheTransactionUsable) {
  start();
  const std::string role = "writer_" + database().name();
  database().execute("create role " + role + "; grant insert on business to " + role +
                     "; create schema closed; create table closed.outbox (like outbox including all)");
  EnqueueOptions closed;
  closed.table = "closed.outbox";
  const auto as_writer = [&](const EnqueueOptions& options) {
    application().execute("set local role " + role);
    application().enqueue(order(), options);
  };
  expect_harmless([&] { as_writer({}); }, "grant insert, select on \"outbox\"");
  expect_harmless([&] { as_writer(closed); }, "there is no table");
  database().execute("grant insert on outbox to " + role + "; grant select (id) on outbox to " + role);
  application().begin();
  as_writer({});
  application().commit();
  EXPECT_EQ(count("outbox"), "1");
  database().execute("drop owned by " + role + "; drop role " + role);
}

// Every sample that PostgreSQL would refuse is refused by us first; every other arrives.
TEST_P(EnqueuePostgres, JudgesJsonAsTheDatabaseDoes) {
  for (const std::string type : {"json", "jsonb"}) {
    database().execute("drop table if exists outbox, outbox_meta cascade");
    database().execute(
        "create table outbox (id uuid primary key, aggregatetype text, aggregateid text, type text,"
        " payload " +
        type +
        ", headers jsonb, aggregate_version bigint, schema_version int,"
        " traceparent text, not_before timestamptz)");
    application_ = GetParam().connect(database().url());
    const std::size_t depth = client::kMaxJsonDepth;
    std::vector<std::string> taken = client::kJson;
    taken.push_back(std::string(depth, '[') + std::string(depth, ']'));
    std::vector<std::string> refused = client::kNotJson;
    for (const auto& text : client::kJsonButNotJsonb) (type == "json" ? taken : refused).push_back(text);
    for (const auto& text : taken) {
      application().begin();
      EXPECT_NO_THROW(application().enqueue(order(text))) << type << ": " << text.substr(0, 80);
      application().commit();
    }
    for (const auto& text : refused) {
      expect_harmless([&] { application().enqueue(order(text)); }, "");
      if (text.find('\0') != std::string::npos || text.size() > 1000) continue;
      EXPECT_ANY_THROW(database().query("select $1::" + type, {text})) << type << ": " << text;
    }
  }
}

TEST_P(EnqueuePostgres, TheDeepestJsonFitsTheSmallestStack) {
  start("jsonb");
  const std::size_t depth = client::kMaxJsonDepth;
  application().begin();
  application().execute("set local max_stack_depth = '100kB'");
  std::string deep;
  for (std::size_t i = 0; i < depth; ++i) deep += "{\"a\":";
  EXPECT_NO_THROW(application().enqueue(order(deep + "1" + std::string(depth, '}'))));
}

TEST_P(EnqueuePostgres, TheSessionsSettingsDoNotMatter) {
  start("json", "shop.outbox");
  application().begin();
  application().execute(
      "set local client_encoding = 'LATIN1'; set local standard_conforming_strings = off;"
      " set local search_path = shop, public; set local time zone '-11'; set local datestyle = 'German';"
      " set local bytea_output = 'escape'; set local intervalstyle = 'iso_8601';"
      " set local statement_timeout = '1min'; set local backslash_quote = off");
  Message message = order("\"\xc3\xa4\xe2\x82\xac\"");
  message.aggregate_id = "K\xc3\xb6ln\\'\"";
  message.headers = {{"\xe2\x82\xac", "\\"}};
  application().enqueue(message);
  EnqueueOptions qualified;
  qualified.table = "shop.outbox";
  application().enqueue(message, qualified);
  application().commit();
  EXPECT_EQ(count("shop.outbox where payload::text = '\"\xc3\xa4\xe2\x82\xac\"' and aggregateid = 'K\xc3\xb6ln\\''\"'"
                  " and headers->>'\xe2\x82\xac' = '\\'"),
            "2");
}

TEST_P(EnqueuePostgres, ATableThatChangedUnderTheConnectionIsLookedAtAnew) {
  start("json");
  application().begin();
  application().enqueue(order());
  application().commit();
  database().execute("alter table outbox alter payload type bytea using convert_to(payload::text, 'UTF8')");
  application().begin();
  try {
    application().enqueue(order());
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_TRUE(error.retryable());
    EXPECT_TRUE(error.poisons_transaction());
  }
  application().rollback();
  application().begin();
  application().enqueue(bytes("\x01"));
  application().commit();
  EXPECT_EQ(count("outbox"), "2");
}

TEST_P(EnqueuePostgres, SeveralKeepTheirOrder) {
  start();
  std::vector<Message> messages;
  std::vector<std::string> bodies;
  for (int i = 0; i < 10'000; ++i) {
    bodies.push_back(std::to_string(i));
    messages.push_back(order(bodies.back()));
  }
  application().begin();
  EXPECT_EQ(application().enqueue(messages).size(), messages.size());
  EXPECT_TRUE(application().enqueue(std::vector<Message>{}).empty());
  application().commit();
  EXPECT_EQ(payloads(), bodies);
}

TEST_P(EnqueuePostgres, NothingOfARolledBackTransactionStays) {
  start();
  application().begin();
  application().enqueue(order());
  application().rollback();
  EXPECT_EQ(count("outbox"), "0");
}

TEST_P(EnqueuePostgres, AnInvalidMessageFailsWithAnErrorOfTheDatabase) {
  start();
  database().execute("alter table outbox add constraint few check (type <> 'Forbidden')");
  Message message = order(R"({"secret":1})");
  message.type = "Forbidden";
  application().begin();
  try {
    application().enqueue(message);
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.sql_state(), "23514");
    EXPECT_TRUE(error.poisons_transaction());
    EXPECT_FALSE(error.retryable());
    EXPECT_EQ(std::string(error.what()).find("secret"), std::string::npos) << error.what();
  }
  EXPECT_THROW(application().enqueue(order()), Error);  // 25P02, or refused before it is sent
  application().rollback();
}

TEST_P(EnqueuePostgres, ALostConnectionIsRetryable) {
  start();
  application().begin();
  application().execute("insert into business (note) values (pg_backend_pid()::text)");
  database().execute(
      "select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid()"
      " and datname = current_database()");
  try {
    application().enqueue(order());
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_TRUE(error.retryable());
    EXPECT_TRUE(error.poisons_transaction());
  }
}

// A writer with the same id in an open transaction is waited for; its outcome decides.
TEST_P(EnqueuePostgres, WaitsForAnotherWriterOfTheSameId) {
  start();
  Message message = order();
  message.id = make_message_id();
  const auto other = GetParam().connect(database().url());
  for (const bool commits : {false, true}) {
    other->begin();
    EXPECT_FALSE(other->enqueue(message).duplicate);
    application().begin();
    std::jthread end([&] {
      const std::string waiting =
          "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()";
      EXPECT_TRUE(eventually(30s, [&] { return database().value(waiting) == "1"; }));
      commits ? other->commit() : other->rollback();
    });
    EXPECT_EQ(application().enqueue(message).duplicate, commits);
    end.join();
    application().rollback();
  }
}

std::vector<Variant> variants() {
  return {{"Libpq", Service::postgresql, libpq_application},
          {"Pqxx", Service::postgresql, pqxx_application},
          {"LibpqNewest", Service::postgresql_newest, libpq_application},
          {"PqxxNewest", Service::postgresql_newest, pqxx_application}};
}

INSTANTIATE_TEST_SUITE_P(Drivers, EnqueuePostgres, testing::ValuesIn(variants()),
                         [](const auto& variant) { return variant.param.name; });

}  // namespace
}  // namespace outbox::test
