#include "app/status_report.h"

#include <gtest/gtest.h>

namespace outbox::app {
namespace {

const Time kNow{Duration(1'700'000'000'000'000)};

class StatusReportTest : public testing::Test {
 protected:
  StatusReportTest() {
    report_.sink = "events";
    report_.breaker = "closed";
    store_.database_now = kNow;
  }

  StatusReport made(bool stopped = false) {
    store_.relays = {{"shop:1", kNow - 1h, kNow - 1s, stopped, to_json({&report_, 1})}};
    return make_status_report(store_, {"events"});
  }
  // The same in both: the text without what the other says in members of its own.
  static void expect_in_both(const StatusReport& report, const std::string& text, const std::string& json) {
    EXPECT_NE(status_text(report).find(text), std::string::npos) << status_text(report);
    EXPECT_NE(status_json(report).find(json), std::string::npos) << status_json(report);
  }

  SinkReport report_;
  StoreStatus store_;
};

TEST_F(StatusReportTest, AnErrorHasItsAge) {
  report_.last_error = "timeout: no answer";
  report_.last_error_at = kNow - 180s;
  expect_in_both(made(), "timeout: no answer (3m ago)\n",
                 R"("last_error":"timeout: no answer","last_error_at":"2023-11-14T22:10:20.000000Z",)"
                 R"("last_error_relay":"shop:1","last_error_relay_stopped":false)");
}

TEST_F(StatusReportTest, TheErrorOfAStoppedRelayStays) {
  report_.last_error = "timeout: no answer";
  report_.last_error_at = kNow - 180s;
  report_.breaker = "open";
  report_.breaker_reason = "timeout: no answer";
  expect_in_both(made(true), "timeout: no answer (3m ago; said by relay shop:1, which no longer runs)\n",
                 R"("last_error_relay":"shop:1","last_error_relay_stopped":true)");
  EXPECT_NE(status_text(made(true)).find("events               no relay "), std::string::npos);
}

TEST_F(StatusReportTest, WhatIsOverIsNotSaid) {
  report_.last_error = "http_422: no";
  report_.last_error_at = kNow - 180s;
  report_.last_delivery = kNow - 10s;
  for (const bool stopped : {false, true}) {
    EXPECT_EQ(status_text(made(stopped)).find("422"), std::string::npos) << status_text(made(stopped));
    EXPECT_NE(status_json(made(stopped)).find(R"("last_error":"","last_error_at":null,"last_error_relay":null)"),
              std::string::npos)
        << status_json(made(stopped));
  }
  // A dead letter is not over.
  store_.sinks["events"].parked.dead = 1;
  EXPECT_NE(status_text(made()).find("http_422: no (3m ago)"), std::string::npos) << status_text(made());
}

TEST_F(StatusReportTest, TheNewestErrorCounts) {
  store_.sinks["events"].parked.dead = 1;
  store_.sinks["events"].last_error = "http_422: no";
  store_.sinks["events"].last_error_at = kNow - 60s;
  expect_in_both(made(), "http_422: no (60s ago)\n", R"("last_error":"http_422: no")");
  report_.last_error = "timeout: no answer";
  report_.last_error_at = kNow - 180s;
  expect_in_both(made(), "http_422: no (60s ago)\n", R"("last_error_relay":null)");
  report_.last_error_at = kNow - 30s;
  expect_in_both(made(), "timeout: no answer (30s ago)\n", R"("last_error_relay":"shop:1")");
}

TEST_F(StatusReportTest, DestinationsThatTakeNothingAreSaid) {
  report_.held_destinations = 2;
  report_.held_destination_reason = "no_exchange: 404";
  expect_in_both(made(), "2 destinations held: no_exchange: 404\n", R"("held_destinations":2)");
  report_.held_destinations = 1;
  expect_in_both(made(), "1 destination held: no_exchange: 404\n", R"("held_destinations":1)");
  EXPECT_EQ(status_text(made(true)).find("held"), std::string::npos) << "that was said by a relay that is gone";
}

TEST_F(StatusReportTest, AnOpenBreakerIsNow) {
  report_.breaker = "open";
  report_.breaker_reason = "refused: connection refused";
  report_.last_error = "refused: connection refused";
  report_.last_error_at = kNow - 180s;
  expect_in_both(made(), "  refused: connection refused\n", R"("last_error_at":null)");
}

TEST_F(StatusReportTest, ItSaysWhichRelayHasWhichLanesAndUntilWhen) {
  store_.shares = {{"events", {0, 31}, "shop:1", kNow + 9s},
                   {"events", {32, 47}, "shop:2", kNow - 1s},
                   {"events", {48, 63}, "shop:3", std::nullopt},
                   {"invoices", {0, 63}, "", std::nullopt}};
  expect_in_both(made(), "events                  0-31      9s  shop:1\n",
                 R"({"feed":"events","lane":0,"lane_to":31,"relay":"shop:1",)"
                 R"("lease_until":"2023-11-14T22:13:29.000000Z"})");
  // Whose lease has run out, or was given up, has nothing.
  expect_in_both(made(), "events                 32-47       -  nobody\n",
                 R"({"feed":"events","lane":32,"lane_to":47,"relay":null,"lease_until":null})");
  expect_in_both(made(), "events                 48-63       -  nobody\n",
                 R"({"feed":"events","lane":48,"lane_to":63,"relay":null,"lease_until":null})");
  expect_in_both(made(), "invoices                0-63       -  nobody\n",
                 R"({"feed":"invoices","lane":0,"lane_to":63,"relay":null,"lease_until":null})");
}

TEST_F(StatusReportTest, WithoutLeasesALivingRelayHasItsShare) {
  store_.has_leases = false;
  store_.shares = {{"events", {}, "shop:1", std::nullopt}};
  expect_in_both(made(), "events                  0-63       -  shop:1\n", R"("relay":"shop:1","lease_until":null)");
  expect_in_both(made(true), "events                  0-63       -  nobody\n", R"("relay":null,"lease_until":null)");
}

TEST_F(StatusReportTest, ALivingRelayCountsBeforeOneThatWasSeenLater) {
  store_.relays = {{"shop:2", kNow - 1h, kNow, true, to_json({&report_, 1})},
                   {"shop:1", kNow - 1h, kNow - 5s, false, to_json({&report_, 1})}};
  const StatusReport report = make_status_report(store_, {"events"});
  EXPECT_EQ(report.sinks.at("events").relay, "shop:1");
  EXPECT_TRUE(report.sinks.at("events").alive);
}

}  // namespace
}  // namespace outbox::app
