// What the database refuses to store about one message: the others go on, nothing is lost, and it is seen. Ids of any
// length are stored.
#include <algorithm>
#include <atomic>

#include "integration/daemon_fixture.h"

namespace outbox::test {
namespace {

using namespace std::chrono_literals;

class RefusedSettle : public DaemonTest {
 protected:
  void configure_adopted(const std::string& id_type, const std::string& sent = "mark") {
    database_->execute("create table events_out (id " + id_type +
                       " primary key, aggregate_type text, aggregate_id text, type text, payload json, n bigint"
                       " generated always as identity, published_at timestamptz)");
    configure(http_sink("events", stub_), "  - { sink: events }\n",
              "outbox:\n  table: events_out\n  columns: { aggregate_type: aggregate_type, aggregate_id: aggregate_id,"
              " order: n }\n  sent: " +
                  sent + "\n");
  }
  void insert(const std::string& id, const std::string& key, const std::string& payload = "{}") {
    database_->query(
        "insert into events_out (id, aggregate_type, aggregate_id, type, payload) values ($1, 'order', $2, 'T', $3)",
        {id, key, payload});
  }
  std::string unmarked() {
    return database_->value(
        "select coalesce(string_agg(id::text, ' ' order by n), '') from events_out where published_at is null");
  }
  std::size_t times(const std::string& id) {
    const auto came = ids_of(stub_.requests());
    return static_cast<std::size_t>(std::count(came.begin(), came.end(), id));
  }

  HttpStub stub_;
};

const std::string kRaise =
    "create function refuse() returns trigger language plpgsql as $$ begin"
    " raise exception 'not this one'; end $$;";

// A trigger of the user's that does not let one row be marked.
TEST_F(RefusedSettle, ARowThatCannotBeMarkedHoldsNobodyElse) {
  configure_adopted("text");
  database_->execute(kRaise +
                     "create trigger refuse before update on events_out for each row when (old.id = 'm3')"
                     " execute function refuse()");
  for (int i = 1; i <= 20; ++i) insert("m" + std::to_string(i), std::to_string(i));
  auto relay = daemon_.start();
  const int port = admin_port(*relay);
  ASSERT_TRUE(eventually(
      30s, [&] { return database_->value("select count(*) from events_out where published_at is null") == "1"; }))
      << unmarked() << relay->standard_error();
  insert("m21", "21");
  ASSERT_TRUE(eventually(30s, [&] {
    return database_->value("select count(*) from events_out where id = 'm21' and published_at is not null") == "1";
  })) << relay->standard_error();
  EXPECT_EQ(unmarked(), "m3");
  const std::string log = relay->standard_error();
  EXPECT_NE(log.find("marking message m3"), std::string::npos) << log;
  EXPECT_NE(log.find("not this one"), std::string::npos) << log;
  EXPECT_TRUE(eventually(10s, [&] {
    const Page page = get(port, "/readyz");
    return page.body.find("m3") != std::string::npos && page.status == 503;
  })) << get(port, "/readyz").body;
  EXPECT_TRUE(eventually(30s, [&] {
    return daemon_.run({"status"}).out.find("refuses marking message m3") != std::string::npos;
  })) << daemon_.run({"status"}).out;
  // It is mended: the row is marked, without another try.
  database_->execute("drop trigger refuse on events_out");
  ASSERT_TRUE(eventually(60s, [&] {
    return database_->value("select count(*) from events_out where published_at is null") == "0";
  })) << relay->standard_error();
  EXPECT_TRUE(eventually(10s, [&] { return get(port, "/readyz").status == 200; })) << get(port, "/readyz").body;
  EXPECT_EQ(times("m3"), 1u);
  EXPECT_EQ(stop(*relay), 0) << relay->standard_error();
}

// A mark that the database accepts and that takes no effect.
class MarkWithoutEffect : public RefusedSettle, public testing::WithParamInterface<std::string> {};

TEST_P(MarkWithoutEffect, IsSaidAndTheMessageIsNotSentAgain) {
  configure_adopted("text", GetParam());
  database_->execute(
      "create function keep() returns trigger language plpgsql as $$ begin return null; end $$;"
      "create trigger keep before " +
      std::string(GetParam() == "delete" ? "delete" : "update") +
      " on events_out for each row when (old.id = 'm3') execute function keep()");
  for (int i = 1; i <= 20; ++i) insert("m" + std::to_string(i), std::to_string(i));
  auto relay = daemon_.start();
  const int port = admin_port(*relay);
  ASSERT_TRUE(eventually(30s, [&] { return unmarked() == "m3"; })) << unmarked() << relay->standard_error();
  EXPECT_TRUE(eventually(10s, [&] {
    const Page page = get(port, "/readyz");
    return page.body.find("m3") != std::string::npos && page.status == 503;
  })) << get(port, "/readyz").body;
  const std::string log = relay->standard_error();
  EXPECT_NE(log.find("marking message m3"), std::string::npos) << log;
  EXPECT_NE(log.find("left the row as it was"), std::string::npos) << log;
  // Only a sweep, which reads m3 too, finds what lies below the mark.
  for (const std::string id : {"-1", "-2", "-3"}) {
    database_->execute("insert into events_out overriding system value values ('" + id + "', 'order', '" + id +
                       "', 'T', '{}', " + id + ", null)");
    ASSERT_TRUE(eventually(30s, [&] { return times(id) == 1 && unmarked() == "m3"; })) << relay->standard_error();
  }
  EXPECT_EQ(times("m3"), 1u);
  database_->execute("drop trigger keep on events_out");
  ASSERT_TRUE(eventually(60s, [&] { return unmarked() == ""; })) << relay->standard_error();
  EXPECT_TRUE(eventually(10s, [&] { return get(port, "/readyz").status == 200; })) << get(port, "/readyz").body;
  EXPECT_EQ(times("m3"), 1u);
  EXPECT_EQ(stop(*relay), 0) << relay->standard_error();
}

INSTANTIATE_TEST_SUITE_P(Sent, MarkWithoutEffect, testing::Values("mark", "delete"),
                         [](const auto& sent) { return sent.param; });

// A dead letter that cannot be stored: nothing passes it, and a relay that starts anew brings it again.
TEST_F(RefusedSettle, AMessageThatCannotBeParkedIsNotLost) {
  stub_.set_script([](const StubRequest& request) { return StubReply{request.body == "[\"bad\"]" ? 422 : 200}; });
  configure(http_sink("events", stub_), "  - { sink: events }\n");
  const auto bad = send("bad", "T", "[\"bad\"]");
  const auto worse = send("worse", "T", "[\"bad\"]");
  database_->execute(kRaise +
                     "create trigger refuse before insert on outbox_delivery for each row when"
                     " (new.message_id = '" +
                     bad + "') execute function refuse()");
  for (int i = 0; i < 20; ++i) send(std::to_string(i));
  auto relay = daemon_.start();
  ASSERT_TRUE(stub_.wait_for_requests(22)) << relay->standard_error();
  ASSERT_TRUE(eventually(30s, [&] { return state_of(worse) == "dead"; })) << relay->standard_error();
  ASSERT_TRUE(eventually(30s, [&] {
    return relay->standard_error().find("parking message " + bad) != std::string::npos;
  })) << relay->standard_error();
  EXPECT_EQ(state_of(bad), "");
  relay->kill_and_wait();
  database_->execute("drop trigger refuse on outbox_delivery");
  relay = daemon_.start();
  EXPECT_TRUE(eventually(30s, [&] { return state_of(bad) == "dead"; })) << relay->standard_error();
  EXPECT_EQ(stop(*relay), 0) << relay->standard_error();
}

TEST_F(RefusedSettle, OnceSaysSo) {
  configure_adopted("text");
  database_->execute(kRaise +
                     "create trigger refuse before update on events_out for each row when (old.id = 'm1')"
                     " execute function refuse()");
  insert("m1", "1");
  insert("m2", "2");
  const Ran once = daemon_.run({"run", "--once"});
  EXPECT_NE(once.code, 0) << once.err;
  EXPECT_NE(once.err.find("marking message m1"), std::string::npos) << once.err;
  EXPECT_EQ(unmarked(), "m1");
}

// Ids that no index takes whole.
TEST_F(RefusedSettle, AMessageWithAnIdOfAnyLengthIsParkedAndRequeued) {
  std::atomic<bool> ill = true;
  stub_.set_script(
      [&](const StubRequest& request) { return StubReply{ill && request.body == "[\"bad\"]" ? 422 : 200}; });
  configure_adopted("text");
  database_->execute("alter table events_out drop constraint events_out_pkey");  // whose index would not take it either
  std::string id;
  while (id.size() < 4000) id += std::to_string(id.size() * 2654435761u);
  insert(id, "K", "[\"bad\"]");
  insert(id + "2", "L", "[\"bad\"]");
  insert("short", "K");
  auto relay = daemon_.start();
  ASSERT_TRUE(eventually(30s, [&] { return count("dead") == "2"; })) << relay->standard_error();
  ASSERT_TRUE(eventually(30s, [&] { return unmarked() == ""; })) << unmarked();
  EXPECT_EQ(times("short"), 1u);
  EXPECT_EQ(database_->value("select count(*) from outbox_delivery where long_id is not null"), "2");
  ill = false;
  const std::string listed = database_->value("select message_id from outbox_delivery where long_id = '" + id + "'");
  const Ran requeued = daemon_.run({"requeue", listed, "--reason", "mended"});
  EXPECT_EQ(requeued.code, 0) << requeued.err;
  ASSERT_TRUE(eventually(30s, [&] { return times(id) == 2; })) << relay->standard_error();
  EXPECT_EQ(times(listed), 0u) << "it goes out under its own id";
  EXPECT_EQ(stop(*relay), 0) << relay->standard_error();
}

}  // namespace
}  // namespace outbox::test
