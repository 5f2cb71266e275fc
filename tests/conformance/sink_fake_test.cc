#include "conformance/sink_conformance.h"
#include "support/fake_sink.h"

namespace outbox::test {
namespace {

class FakeBench : public SinkBench {
 public:
  std::unique_ptr<Sink> make_sink() override { return make_fake_sink(broker_); }
  std::string destination() const override { return "orders"; }

  std::vector<Arrival> arrived() override {
    std::vector<Arrival> all;
    for (const auto& each : broker_.arrivals()) {
      all.push_back({each.record->id, each.record->aggregate_id, each.record->payload});
    }
    return all;
  }

  bool poison(Record& record) override {
    broker_.refuse(record.id);
    return true;
  }
  bool outgrow(Record& record) override {
    broker_.set_payload_max(100);
    record.payload.assign(101, ' ');
    return true;
  }
  std::string broken_destination() override {
    broker_.break_destination("missing");
    return "missing";
  }
  bool go_down() override {
    broker_.set_mode(FakeBroker::Mode::down);
    return true;
  }
  void come_up() override { broker_.set_mode(FakeBroker::Mode::up); }
  bool hold() override {
    broker_.set_mode(FakeBroker::Mode::hold);
    return true;
  }
  void let_go() override { broker_.set_mode(FakeBroker::Mode::up); }
  void forget_arrivals() override { broker_.keep_arrivals(false); }

 private:
  FakeBroker broker_;
};

INSTANTIATE_TEST_SUITE_P(Fake, SinkConformance,
                         testing::Values(BenchType{"fake", [] { return std::make_unique<FakeBench>(); }}), bench_name);

}  // namespace
}  // namespace outbox::test
