// The sink conformance suite on a real NATS with JetStream.
#include <map>

#include "conformance/sink_conformance.h"
#include "sink/nats/nats_sink.h"
#include "support/nats_server.h"
#include "support/nats_stream.h"
#include "support/services.h"

namespace outbox::test {
namespace {

// A server of its own: the suite stops and kills it.
class NatsBench : public SinkBench {
 public:
  NatsBench() : stream_(std::make_unique<NatsStream>(server_.url(), "conformance")) {}

  std::unique_ptr<Sink> make_sink() override {
    const SinkType type = nats_sink();
    return type.create("events", config::parse_values(type.options, {{"servers", server_.url()}})).value();
  }
  std::string destination() const override { return stream_->subject("order.Placed"); }
  std::vector<Arrival> arrived() override {
    std::vector<Arrival> all;
    for (const NatsMessage& message : stream_->read()) {
      all.push_back({message.header("message-id"), message.header("aggregate-id"), message.data});
    }
    return all;
  }

  bool poison(Record& record) override {
    record.headers = R"({"Nats-Rollup":"all"})";
    return true;
  }
  bool outgrow(Record& record) override {  // above the server's max_payload of 1 MB
    record.payload.assign((1u << 20) + 1, 'x');
    return true;
  }
  std::string broken_destination() override { return "nobody.takes.this"; }
  bool go_down() override {
    server_.kill();
    return true;
  }
  void come_up() override { server_.start(); }
  bool hold() override {
    server_.pause();
    return true;
  }
  void let_go() override { server_.resume(); }
  void forget_arrivals() override {
    stream_->update([](jsStreamConfig& config) { config.MaxMsgs = 1000; });
  }

 private:
  NatsServer server_;
  std::unique_ptr<NatsStream> stream_;
};

std::vector<BenchType> bench_types() {
  std::vector<BenchType> types;
  if (find_service(Service::nats)) types.push_back({"nats", [] { return std::make_unique<NatsBench>(); }});
  return types;
}

TEST(NatsConformance, RunsOnARealNats) { OUTBOX_REQUIRE_SERVICE(url, Service::nats); }

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(SinkConformance);
INSTANTIATE_TEST_SUITE_P(Nats, SinkConformance, testing::ValuesIn(bench_types()), bench_name);

}  // namespace
}  // namespace outbox::test
