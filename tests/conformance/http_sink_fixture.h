// An http sink, a stub, and what the sink reported: for tests of single answers and faults.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>

#include "sink/http/http_sink.h"
#include "support/completion_log.h"
#include "support/http_stub.h"

namespace outbox::test {

class HttpSinkTest : public testing::Test {
 protected:
  using Options = std::map<std::string, std::string>;

  void TearDown() override {
    stub_.release();
    if (sink_) sink_->close();
    EXPECT_EQ(log_.completed_twice(), 0u);
  }

  static Result<std::unique_ptr<Sink>> create(Options options) {
    options.emplace("url", "http://127.0.0.1/");
    const SinkType type = http_sink();
    return type.create("invoices", config::parse_values(type.options, options));
  }

  void open(Options options = {}) {
    auto sink = create(std::move(options));
    ASSERT_TRUE(sink) << sink.failure().what;
    sink_ = *std::move(sink);
    const auto opened = sink_->open(log_);
    ASSERT_TRUE(opened) << opened.failure().what;
  }

  // Publishes and waits. `url` empty: the stub's.
  Outcome send(Record record, const std::string& url = {}, int attempt = 1) {
    const DeliveryId id = publish(std::move(record), url, attempt);
    return log_.wait_for(id);
  }

  DeliveryId publish(Record record, const std::string& url = {}, int attempt = 1) {
    Publication one = publication(++last_id_, std::move(record), url.empty() ? stub_.url("/invoices") : url);
    one.attempt = attempt;
    sink_->publish({&one, 1});
    return one.id;
  }

  HttpStub stub_;
  CompletionLog log_;
  std::unique_ptr<Sink> sink_;
  DeliveryId last_id_ = 0;
};

// "busy destination redirect": verdict, scope where it counts, reason.
std::string words(const Outcome& outcome);

}  // namespace outbox::test
