// The sink conformance suite on a real RabbitMQ, with classic and with quorum queues.
#include <signal.h>
#include <unistd.h>

#include <map>

#include "conformance/sink_conformance.h"
#include "sink/rabbitmq/rabbitmq_sink.h"
#include "support/rabbitmq.h"
#include "support/rabbitmq_control.h"
#include "support/services.h"

namespace outbox::test {
namespace {

std::string unused_name() {
  static int made = 0;
  return "conformance-" + std::to_string(::getpid()) + "-" + std::to_string(++made);
}

class RabbitBench : public SinkBench {
 public:
  explicit RabbitBench(QueueType type) : url_(*find_service(Service::rabbitmq)), name_(unused_name()) {
    RabbitClient client(url_);
    client.declare_exchange(name_);
    client.declare_queue(name_, type);
    client.bind(name_, name_, "Placed");
  }
  ~RabbitBench() override {
    let_go();
    if (down_) come_up();
    RabbitClient client(url_);
    client.delete_queue(name_);
    client.delete_exchange(name_);
  }

  std::unique_ptr<Sink> make_sink() override {
    const SinkType type = rabbitmq_sink();
    return type.create("events", config::parse_values(type.options, {{"url", url_}})).value();
  }
  std::string destination() const override { return name_ + "/Placed"; }
  std::vector<Arrival> arrived() override {
    RabbitClient client(url_);
    for (const RabbitMessage& message : client.take(name_)) {
      arrived_.push_back({message.message_id, message.header("aggregate-id"), message.body});
    }
    return arrived_;
  }

  bool poison(Record& record) override {
    record.headers = R"({"tenant":7})";
    return true;
  }
  bool outgrow(Record& record) override {  // above the broker's max_message_size, below payload_max
    record.payload.assign(5u << 20, 'x');
    return true;
  }
  std::string broken_destination() override { return name_ + ".missing/Placed"; }
  bool go_down() override {
    save_declarations();
    kill_service(Service::rabbitmq);
    down_ = true;
    return true;
  }
  void come_up() override {
    start_service(Service::rabbitmq);
    down_ = false;
  }
  bool hold() override {
    held_ = service_pid(Service::rabbitmq);
    ::kill(held_, SIGSTOP);
    return true;
  }
  void let_go() override {
    if (held_ != 0) ::kill(std::exchange(held_, 0), SIGCONT);
  }
  std::size_t memory_messages() const override { return 50'000; }

 private:
  const std::string url_;
  const std::string name_;
  bool down_ = false;
  pid_t held_ = 0;
  std::vector<Arrival> arrived_;
};

std::vector<BenchType> bench_types() {
  if (!find_service(Service::rabbitmq)) return {};
  return {{"classic", [] { return std::make_unique<RabbitBench>(QueueType::classic); }},
          {"quorum", [] { return std::make_unique<RabbitBench>(QueueType::quorum); }}};
}

TEST(RabbitMqConformance, RunsOnARealRabbitMq) { OUTBOX_REQUIRE_SERVICE(url, Service::rabbitmq); }

INSTANTIATE_TEST_SUITE_P(RabbitMq, SinkConformance, testing::ValuesIn(bench_types()), bench_name);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(SinkConformance);

}  // namespace
}  // namespace outbox::test
