#include "fault/far_end.h"

#include <signal.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>

#include "fault/http_end.h"
#include "support/fault_proxy.h"
#include "support/kafka_topic.h"
#include "support/nats_stream.h"
#include "support/rabbitmq.h"
#include "support/rabbitmq_control.h"
#include "support/services.h"

namespace outbox::test {
namespace {

std::string address_in(const std::string& variable) {
  const char* address = std::getenv(variable.c_str());
  if (address == nullptr) throw std::runtime_error(variable + " is not set");
  return address;
}

std::string at(int port) { return "127.0.0.1:" + std::to_string(port); }

// A broker that tools/services runs.
class BrokerEnd : public FarEnd {
 public:
  explicit BrokerEnd(Service service) : address_(address_in(environment_variable(service))), service_(service) {}
  int port() const override { return port_in(address_); }
  void kill() override { kill_service(service_); }
  void start() override { start_service(service_); }
  void pause() override { ::kill(service_pid(service_), SIGSTOP); }
  void resume() override { ::kill(service_pid(service_), SIGCONT); }

 protected:
  const std::string address_;

 private:
  const Service service_;
};

class KafkaEnd : public BrokerEnd {
 public:
  KafkaEnd() : BrokerEnd(Service::kafka), topic_(address_, "fault", 4, {{"message.timestamp.type", "LogAppendTime"}}) {}

  std::string sink(int port) const override { return "type: kafka, brokers: [ \"" + at(port) + "\" ]"; }
  std::string route() const override { return ", topic: \"" + topic_.name() + "\""; }
  // librdkafka's own, less its jitter.
  Backoff backoff() const override { return {0.075, 3.75}; }
  // Clients go on to the address that the broker gives them: it has a listener for those that come by a proxy.
  int target_port() const override { return port_in(address_in("OUTBOX_KAFKA_PROXIED")); }
  int proxy_port() const override { return target_port() + 1; }

  std::int64_t count() override { return topic_.count(); }
  std::vector<Arrival> arrivals() override {
    std::vector<Arrival> arrivals;
    for (const auto& message : topic_.read()) arrivals.push_back({message.header("message-id"), message.timestamp_ms});
    return arrivals;
  }

 private:
  KafkaTopic topic_;
};

class NatsEnd : public BrokerEnd {
 public:
  NatsEnd() : BrokerEnd(Service::nats), stream_(address_, "fault") {}

  std::string sink(int port) const override {
    return "type: nats, servers: [ \"nats://" + at(port) + "\" ], timeout: { confirm: 2s }";
  }
  std::string route() const override { return ", subject: \"" + stream_.subject("{aggregate_type}") + "\""; }

  std::int64_t count() override { return static_cast<std::int64_t>(stream_.count()); }
  std::vector<Arrival> arrivals() override {
    std::vector<Arrival> arrivals;
    for (const auto& message : stream_.read()) arrivals.push_back({message.header("message-id"), message.at_ms});
    return arrivals;
  }

 private:
  NatsStream stream_;
};

// A quorum queue.
class RabbitEnd : public BrokerEnd {
 public:
  RabbitEnd() : BrokerEnd(Service::rabbitmq), name_("fault-" + std::to_string(wall_clock_ms())) {
    RabbitClient client(address_);
    client.declare_exchange(name_);
    client.declare_queue(name_, QueueType::quorum);
    client.bind(name_, name_, "order");
    save_declarations();
  }
  ~RabbitEnd() override {
    try {
      RabbitClient client(address_);
      client.delete_queue(name_);
      client.delete_exchange(name_);
    } catch (const std::runtime_error& error) {
      std::fprintf(stderr, "%s\n", error.what());  // its data goes with the broker
    }
  }

  std::string sink(int port) const override {
    return "type: rabbitmq, url: \"amqp://guest:guest@" + at(port) + "/\", exchange: \"" + name_ +
           "\", heartbeat: 2s, timeout: { connect: 2s }";
  }
  std::string route() const override { return ", routing_key: \"{aggregate_type}\""; }

  std::int64_t count() override {
    const std::int64_t count = RabbitClient(address_).count(name_);
    counts_.push_back({count, wall_clock_ms()});
    return count;
  }
  std::vector<Arrival> arrivals() override {
    std::vector<Arrival> arrivals;
    std::size_t next = 0;
    std::int64_t at_ms = 0;
    for (const auto& message : RabbitClient(address_).take(name_)) {
      const auto before = static_cast<std::int64_t>(arrivals.size());
      for (; next < counts_.size() && counts_[next].count <= before; ++next) at_ms = counts_[next].at_ms;
      arrivals.push_back({message.message_id, at_ms});
    }
    return arrivals;
  }

 private:
  struct Count {
    std::int64_t count;
    std::int64_t at_ms;
  };
  const std::string name_;
  std::vector<Count> counts_;
};

}  // namespace

std::unique_ptr<FarEnd> make_far_end(const std::string& kind) {
  if (kind == "kafka") return std::make_unique<KafkaEnd>();
  if (kind == "rabbitmq") return std::make_unique<RabbitEnd>();
  if (kind == "nats") return std::make_unique<NatsEnd>();
  if (kind == "http") return std::make_unique<HttpEnd>();
  throw std::invalid_argument("no sink named '" + kind + "'; there are kafka, rabbitmq, nats and http");
}

std::int64_t wall_clock_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace outbox::test
