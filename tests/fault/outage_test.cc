// Peers that go away and come back: the relay waits, says why, uses up nobody's attempts, and goes on.
#include "fault/postgres_kafka.h"
#include "fault/sqlite_http.h"
#include "support/eventually.h"

namespace outbox::test {
namespace {

using namespace std::chrono_literals;
using app::Mood;

constexpr auto kAway = 5s;

Page unready(int port) {
  Page page;
  EXPECT_TRUE(eventually(60s, [&] { return (page = get(port, "/readyz")).status == 503; }));
  return page;
}
bool ready(int port) {
  return eventually(60s, [&] { return get(port, "/readyz").status == 200; });
}

class Outage : public PostgresKafka {
 protected:
  void SetUp() override {
    PostgresKafka::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    shop().start(3, 100);
    relay_ = start_relay();
    port_ = admin_port(*relay_);
    ASSERT_TRUE(ready(port_)) << relay_->standard_error();
    await_traffic();
  }

  void await_traffic() {
    const auto count = topic().count();
    EXPECT_TRUE(eventually(60s, [&] { return topic().count() > count + 200; })) << relay_->standard_error();
  }

  // The relay lives on through it, alive and not ready; `why` is in what it says.
  void outlast(Service service, const std::string& why) {
    kill_service(service);
    const Page page = unready(port_);
    EXPECT_NE(page.body.find(why), std::string::npos) << page.body;
    const auto lines = lines_of(relay_->standard_error()).size();
    EXPECT_FALSE(relay_->wait(kAway)) << relay_->standard_error();
    EXPECT_EQ(get(port_, "/healthz").status, 200);
    EXPECT_EQ(get(port_, "/readyz").status, 503);
    // A line per attempt at most, and attempts are spaced: not one per message.
    EXPECT_LT(lines_of(relay_->standard_error()).size(), lines + 40) << relay_->standard_error();
    start_service(service);
    EXPECT_TRUE(ready(port_)) << get(port_, "/readyz").body << relay_->standard_error();
  }

  void finish() {
    await_traffic();
    relay_->terminate();
    const auto ended = relay_->wait(30s);
    ASSERT_TRUE(ended && ended->succeeded()) << relay_->standard_error();
    drain_and_judge();
    EXPECT_EQ(database().value("select coalesce(max(attempts), 0) from outbox_delivery"), "0");
  }

  std::unique_ptr<ChildProcess> relay_;
  int port_ = 0;
};

TEST_P(Outage, OfTheDatabase) {
  outlast(GetParam(), "feed of events");
  PQreset(database().connection());
  finish();
}

TEST_P(Outage, OfKafka) {
  outlast(Service::kafka, "sink events");
  finish();
}

INSTANTIATE_TEST_SUITE_P(Servers, Outage, testing::Values(Service::postgresql), server_name);

class PartnerOutage : public SqliteHttp {
 protected:
  void outlast(Mood mood) {
    shop_->start();
    auto relay = start_relay();
    const int port = admin_port(*relay);
    const auto await_invoices = [&] {
      const auto before = partner_->counts().invoices;
      EXPECT_TRUE(eventually(30s, [&] { return partner_->counts().invoices > before + 50; }))
          << relay->standard_error();
    };
    await_invoices();
    partner_->stay(mood);
    const Page page = unready(port);
    EXPECT_NE(page.body.find("sink invoices"), std::string::npos) << page.body;
    EXPECT_FALSE(relay->wait(kAway));
    EXPECT_EQ(get(port, "/healthz").status, 200);
    EXPECT_EQ(dead_letters().size(), 0u);
    partner_->stay(Mood::well);
    EXPECT_TRUE(ready(port)) << relay->standard_error();
    await_invoices();
    ASSERT_TRUE(shop_->stop());
    EXPECT_TRUE(eventually(60s, [&] { return nothing_waits(); })) << relay->standard_error();
    EXPECT_LE(attempts_used(), 1);  // the try it was cut off in, if another was answered meanwhile; never a probe
    relay->terminate();
    const auto ended = relay->wait(30s);
    ASSERT_TRUE(ended && ended->succeeded()) << relay->standard_error();
    judge();
    EXPECT_EQ(dead_letters().size(), 0u);
  }
};

TEST_F(PartnerOutage, Hanging) { outlast(Mood::hanging); }
TEST_F(PartnerOutage, Down) { outlast(Mood::down); }
TEST_F(PartnerOutage, Failing) { outlast(Mood::failing); }

}  // namespace
}  // namespace outbox::test
