#include <mutex>
#include <set>

#include "conformance/sink_conformance.h"
#include "sink/http/http_sink.h"
#include "support/http_stub.h"

namespace outbox::test {
namespace {

class HttpBench : public SinkBench {
 public:
  HttpBench() {
    stub_.set_script([this](const StubRequest& request) { return answer(request); });
  }

  std::unique_ptr<Sink> make_sink() override {
    const SinkType type = http_sink();
    return type.create("invoices", config::parse_values(type.options, {{"url", destination()}})).value();
  }
  std::string destination() const override { return stub_.url("/invoices"); }

  std::vector<Arrival> arrived() override {
    const std::lock_guard lock(mutex_);
    return arrived_;
  }

  bool poison(Record& record) override {
    const std::lock_guard lock(mutex_);
    refused_.insert(record.id);
    return true;
  }
  bool outgrow(Record& record) override {
    record.payload = "\"" + std::string(kLargest, 'x') + "\"";
    return true;
  }
  std::string broken_destination() override { return "http://127.0.0.1:" + std::to_string(closed_port()) + "/"; }
  bool go_down() override {
    stub_.go_down();
    return true;
  }
  void come_up() override { stub_.come_up(); }
  bool hold() override {
    const std::lock_guard lock(mutex_);
    holds_ = true;
    return true;
  }
  void let_go() override {
    {
      const std::lock_guard lock(mutex_);
      holds_ = false;
    }
    stub_.release();
  }
  void forget_arrivals() override {
    stub_.keep_requests(false);
    const std::lock_guard lock(mutex_);
    keeps_ = false;
  }
  std::size_t memory_messages() const override { return 50'000; }

 private:
  static constexpr std::size_t kLargest = 100'000;

  StubReply answer(const StubRequest& request) {
    const std::lock_guard lock(mutex_);
    const std::string id = request.header("idempotency-key");
    if (refused_.contains(id)) return {.status = 422, .body = "no such order"};
    if (request.body.size() > kLargest) return {.status = 413};
    if (keeps_) arrived_.push_back({id, request.header("aggregate-id"), request.body});
    return {.status = 202, .manner = holds_ ? StubReply::Manner::hang : StubReply::Manner::whole};
  }

  std::mutex mutex_;
  std::vector<Arrival> arrived_;
  std::set<std::string> refused_;
  bool holds_ = false;
  bool keeps_ = true;
  HttpStub stub_;
};

INSTANTIATE_TEST_SUITE_P(Http, SinkConformance,
                         testing::Values(BenchType{"http", [] { return std::make_unique<HttpBench>(); }}), bench_name);

}  // namespace
}  // namespace outbox::test
