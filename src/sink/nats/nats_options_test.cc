#include "sink/nats/nats_options.h"

#include <gtest/gtest.h>

#include "sink/nats/nats_sink.h"

namespace outbox::nats {
namespace {

using Texts = std::map<std::string, std::string>;

Result<NatsOptions> read(Texts texts) {
  texts.emplace("servers", "nats://127.0.0.1:4222");
  return read_options("events", config::parse_values(option_table(), texts));
}

std::string problem(const Texts& texts) {
  const auto options = read(texts);
  return options ? "" : options.failure().what;
}

TEST(NatsOptions, HaveDefaults) {
  const auto options = read({});
  ASSERT_TRUE(options);
  EXPECT_FALSE(options->tls);
  EXPECT_EQ(options->window, 4096u);
  EXPECT_EQ(options->connect_timeout, std::chrono::seconds(2));
  EXPECT_EQ(options->confirm_timeout, std::chrono::seconds(10));
}

TEST(NatsOptions, ServersAreReadAndCompleted) {
  const auto options = read({{"servers", "nats://one:4223,two,nats://[::1]:5000,nats://[::1]/"}});
  ASSERT_TRUE(options) << options.failure().what;
  ASSERT_EQ(options->servers.size(), 4u);
  EXPECT_EQ(options->servers[0].url, "nats://one:4223");
  EXPECT_EQ(options->servers[0].host, "one");
  EXPECT_EQ(options->servers[1].url, "nats://two:4222");
  EXPECT_EQ(options->servers[2].url, "nats://[::1]:5000");
  EXPECT_EQ(options->servers[2].host, "::1");
  EXPECT_EQ(options->servers[3].url, "nats://[::1]:4222");
}

TEST(NatsOptions, WhatIsNoServerIsRefused) {
  for (const std::string url : {"http://one", "nats://", "nats://one:port", "nats://one:99999", "nats://one:1:2",
                                "nats://a b", "nats://one/path", "nats://[::1", "ws://one"}) {
    EXPECT_NE(problem({{"servers", url}}).find("servers: "), std::string::npos) << url;
  }
}

TEST(NatsOptions, TlsIsOnWhereAnythingAsksForIt) {
  EXPECT_TRUE(read({{"servers", "tls://one"}})->tls);
  EXPECT_TRUE(read({{"tls.ca", "ca.pem"}})->tls);
  EXPECT_TRUE(read({{"tls.certificate", "c.pem"}, {"tls.key", "k.pem"}})->tls);
  EXPECT_NE(problem({{"tls.key", "k.pem"}}), "");
}

TEST(NatsOptions, OneWayToSayWhoOneIs) {
  EXPECT_EQ(problem({{"user", "u"}, {"password", "p"}}), "");
  EXPECT_NE(problem({{"user", "u"}}), "");
  EXPECT_NE(problem({{"password", "p"}}), "");
  EXPECT_NE(problem({{"user", "u"}, {"password", "p"}, {"token", "t"}}), "");
  EXPECT_NE(problem({{"token", "t"}, {"credentials", "f"}}), "");
}

TEST(NatsOptions, EachProblemHasItsOption) {
  std::string all;
  for (const auto& each : check_options(config::parse_values(option_table(), {{"servers", "one,http://two,a@b"},
                                                                              {"tls.key", "k"},
                                                                              {"password", "p"},
                                                                              {"token", "t"},
                                                                              {"credentials", "c"}}))) {
    all += each.option + " ";
  }
  EXPECT_EQ(all, "servers servers tls.key password credentials ");
  EXPECT_TRUE(check_options(config::parse_values(option_table(), {{"servers", "one"}})).empty());
}

TEST(NatsOptions, SecretsAreNotQuoted) {
  for (const Texts& texts : {Texts{{"servers", "nats://user:hunter2@one"}}, Texts{{"password", "hunter2"}},
                             Texts{{"token", "hunter2"}, {"credentials", "f"}}}) {
    const std::string text = problem(texts);
    EXPECT_NE(text, "");
    EXPECT_EQ(text.find("hunter2"), std::string::npos) << text;
  }
}

// The client puts them into a line of JSON as they are.
TEST(NatsOptions, SecretsAreEscaped) {
  const auto options = read({{"user", "a\"b"}, {"password", "c\\d"}});
  EXPECT_EQ(options->credentials.user, "a\\\"b");
  EXPECT_EQ(options->credentials.password, "c\\\\d");
}

TEST(NatsSinkType, SaysWhatTheRelayHasToKnow) {
  const SinkType type = nats_sink();
  const config::Values values = config::parse_values(type.options, {{"servers", "one"}, {"window", "7"}});
  EXPECT_EQ(type.default_address(values), "{aggregate_type}.{type}");
  EXPECT_TRUE(type.check_address("orders.{type}"));
  EXPECT_FALSE(type.check_address("orders.*"));
  const auto sink = type.create("events", values);
  ASSERT_TRUE(sink);
  EXPECT_FALSE((*sink)->capabilities().pipelines_key);
  EXPECT_EQ((*sink)->capabilities().window_messages, 7u);
}

TEST(NatsSinkType, AnUnreadableFileEndsItAtTheStart) {
  const SinkType type = nats_sink();
  for (const std::string option : {"credentials", "tls.ca"}) {
    const auto sink = type.create(
        "events", config::parse_values(type.options, {{"servers", "one"}, {option, "/nowhere/secret.creds"}}));
    ASSERT_TRUE(sink);
    struct : CompletionListener {
      void completed(std::vector<Completion>) override {}
    } nobody;
    const Result<void> opened = (*sink)->open(nobody);
    ASSERT_FALSE(opened) << option;
    EXPECT_NE(opened.failure().what.find("/nowhere/secret.creds"), std::string::npos);
  }
}

}  // namespace
}  // namespace outbox::nats
