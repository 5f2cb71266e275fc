// The sink that calls a program's own MessageSink, by the suite that all sinks pass.
#include <atomic>
#include <mutex>

#include "conformance/sink_conformance.h"
#include "embed/called_sink.h"

namespace outbox::test {
namespace {

// A far side in memory that fails as it is told.
class FarSide : public MessageSink {
 public:
  DeliveryOutcome deliver(const OutboundMessage& message) override {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !holds_; });
    if (away_) return DeliveryOutcome::unavailable("away", "nobody answers");
    if (message.headers == Headers{{"poison", "yes"}}) return DeliveryOutcome::rejected("poison", "it is");
    if (keeps_) arrivals_.push_back({message.id, message.aggregate_id, message.payload});
    return DeliveryOutcome::delivered();
  }

  std::vector<Arrival> arrivals() {
    const std::lock_guard lock(mutex_);
    return arrivals_;
  }
  void set(bool FarSide::*what, bool value) {
    const std::lock_guard lock(mutex_);
    this->*what = value;
    changed_.notify_all();
  }
  bool away_ = false;
  bool holds_ = false;
  bool keeps_ = true;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Arrival> arrivals_;
};

class CalledBench : public SinkBench {
 public:
  explicit CalledBench(int threads) : pool_(std::make_shared<CallPool>(far_side_, threads)) {}

  std::unique_ptr<Sink> make_sink() override { return make_called_sink(pool_); }
  std::string destination() const override { return "mail"; }
  std::vector<Arrival> arrived() override { return far_side_->arrivals(); }
  bool poison(Record& record) override {
    record.headers = R"({"poison":"yes"})";
    return true;
  }
  bool go_down() override {
    far_side_->set(&FarSide::away_, true);
    return true;
  }
  void come_up() override { far_side_->set(&FarSide::away_, false); }
  bool hold() override {
    far_side_->set(&FarSide::holds_, true);
    return true;
  }
  void let_go() override { far_side_->set(&FarSide::holds_, false); }
  void forget_arrivals() override { far_side_->set(&FarSide::keeps_, false); }

 private:
  const std::shared_ptr<FarSide> far_side_ = std::make_shared<FarSide>();
  const std::shared_ptr<CallPool> pool_;
};

INSTANTIATE_TEST_SUITE_P(Embedded, SinkConformance,
                         testing::Values(BenchType{"one_call", [] { return std::make_unique<CalledBench>(1); }},
                                         BenchType{"four_calls", [] { return std::make_unique<CalledBench>(4); }}),
                         bench_name);

}  // namespace
}  // namespace outbox::test
