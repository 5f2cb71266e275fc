// A NATS sink on a server of the test's own.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sink/nats/nats_sink.h"
#include "support/completion_log.h"
#include "support/nats_server.h"
#include "support/nats_stream.h"
#include "support/services.h"

namespace outbox::test {

class NatsSinkTest : public testing::Test {
 protected:
  using Options = std::map<std::string, std::string>;

  void SetUp() override { OUTBOX_REQUIRE_SERVICE(shared_one, Service::nats); }
  void TearDown() override {
    if (sink_) sink_->close();
    EXPECT_EQ(log_.completed_twice(), 0u);
  }

  void serve(const std::string& settings = {}) { server_ = std::make_unique<NatsServer>(settings); }
  std::unique_ptr<NatsStream> make_stream(const NatsStream::Tune& tune = {}) const {
    return std::make_unique<NatsStream>(server_->url(), "orders", tune);
  }

  void open(CompletionListener& listener, Options options = {}) {
    if (server_) options.emplace("servers", server_->url());
    const SinkType type = nats_sink();
    auto sink = type.create("events", config::parse_values(type.options, options));
    ASSERT_TRUE(sink) << sink.failure().what;
    sink_ = std::move(*sink);
    const auto opened = sink_->open(listener);
    ASSERT_TRUE(opened) << opened.failure().what;
  }
  void open(Options options = {}) { open(log_, std::move(options)); }

  DeliveryId publish(Record record, const std::string& subject) {
    const Publication one = publication(++last_id_, std::move(record), subject);
    sink_->publish({&one, 1});
    return last_id_;
  }
  Outcome send(Record record, const std::string& subject) { return log_.wait_for(publish(std::move(record), subject)); }

  std::unique_ptr<NatsServer> server_;
  CompletionLog log_;
  std::unique_ptr<Sink> sink_;
  DeliveryId last_id_ = 0;
};

// "busy destination no_stream", "delivered"
inline std::string words(const Outcome& outcome) {
  switch (outcome.verdict) {
    case Verdict::delivered: return "delivered";
    case Verdict::rejected: return "rejected " + outcome.reason;
    case Verdict::unknown: return "unknown " + outcome.reason;
    case Verdict::client_dead: return "client_dead " + outcome.reason;
    case Verdict::busy: break;
  }
  static const std::map<Scope, std::string> kScopes{
      {Scope::message, "message"}, {Scope::destination, "destination"}, {Scope::sink, "sink"}};
  return "busy " + kScopes.at(outcome.scope) + " " + outcome.reason;
}

inline std::vector<std::string> ids_of(const std::vector<NatsMessage>& messages) {
  std::vector<std::string> ids;
  for (const NatsMessage& message : messages) ids.push_back(message.header("message-id"));
  return ids;
}

}  // namespace outbox::test
