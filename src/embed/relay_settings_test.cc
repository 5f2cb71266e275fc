#include "embed/relay_settings.h"

#include <gtest/gtest.h>

namespace outbox {
namespace {

RelayOptions on_sqlite() {
  RelayOptions options;
  options.database = "sqlite:shop.db";
  return options;
}

config::Settings settings() { return embedded_settings(on_sqlite()).value(); }

TEST(EmbeddedSettings, WhatTheProgramSaysIsWhatTheRelayGets) {
  RelayOptions options = on_sqlite();
  options.table = "billing_outbox";
  options.drain_timeout = 3s;
  options.retain = std::chrono::hours(24);
  auto made = embedded_settings(options).value();
  MessageSinkOptions sink;
  sink.from_beginning = true;
  sink.attempts = 3;
  sink.type = "OrderPlaced";
  sink.dead_letter_holds_key = true;
  ASSERT_TRUE(add_embedded_sink(made, "mail", sink));
  EXPECT_EQ(made.outbox.table, "billing_outbox");
  EXPECT_EQ(made.drain_timeout, Duration(3s));
  EXPECT_EQ(made.retain, Duration(std::chrono::hours(24)));
  ASSERT_EQ(made.sinks.size(), 1u);
  EXPECT_EQ(made.sinks[0].name, "mail");
  EXPECT_EQ(made.sinks[0].retry.attempts, 3);
  EXPECT_TRUE(made.sinks[0].from_beginning);
  EXPECT_EQ(made.routes[0].type, "OrderPlaced");
  EXPECT_TRUE(made.routes[0].dead_letter_holds_key);
}

// Else what is for others would be dead here as no_route.
TEST(EmbeddedSettings, WhatNoSinkWantsIsPassedOver) {
  auto made = settings();
  ASSERT_TRUE(add_embedded_sink(made, "mail", {}));
  ASSERT_TRUE(add_embedded_sink(made, "sms", {}));
  ASSERT_EQ(made.routes.size(), 3u);
  EXPECT_EQ(made.routes[0].sink, "mail");
  EXPECT_EQ(made.routes[1].sink, "sms");
  EXPECT_EQ(made.routes[2].sink, "none");
  EXPECT_FALSE(made.routes[2].aggregate_type);
}

TEST(EmbeddedSettings, OptionsThatMakeNoSense) {
  const auto refused = [](auto change) {
    RelayOptions options = on_sqlite();
    change(options);
    return !embedded_settings(options);
  };
  EXPECT_TRUE(refused([](RelayOptions& options) { options.database = "shop.db"; }));
  EXPECT_TRUE(refused([](RelayOptions& options) { options.table = ""; }));
  EXPECT_TRUE(refused([](RelayOptions& options) { options.lease = 999ms; }));
  EXPECT_TRUE(refused([](RelayOptions& options) { options.drain_timeout = -1s; }));
  EXPECT_TRUE(refused([](RelayOptions& options) { options.retain = -1s; }));
  EXPECT_FALSE(refused([](RelayOptions&) {}));
}

TEST(EmbeddedSettings, SinksThatMakeNoSense) {
  auto made = settings();
  ASSERT_TRUE(add_embedded_sink(made, "mail", {}));
  for (const std::string name : {"", "none", "a b", "mail"}) {
    EXPECT_FALSE(add_embedded_sink(made, name, {})) << name;
  }
  const auto refused = [&](auto change) {
    MessageSinkOptions options;
    change(options);
    return !add_embedded_sink(made, "sms", options);
  };
  EXPECT_TRUE(refused([](MessageSinkOptions& options) { options.concurrency = 0; }));
  EXPECT_TRUE(refused([](MessageSinkOptions& options) { options.attempts = 0; }));
  EXPECT_TRUE(refused([](MessageSinkOptions& options) { options.retry_base = 0s; }));
  EXPECT_TRUE(refused([](MessageSinkOptions& options) { options.retry_cap = 1ms; }));
  EXPECT_EQ(made.sinks.size(), 1u) << "what was refused is not half there";
}

}  // namespace
}  // namespace outbox
