#include "support/kafka_mock.h"

#include <stdexcept>
#include <utility>

namespace outbox::test {
namespace {

constexpr std::int16_t kProduce = 0;
constexpr int kLong = 600'000;  // ms

}  // namespace

KafkaMock::KafkaMock(int brokers) : brokers_(brokers) {
  char error[256];
  rd_kafka_conf_t* conf = rd_kafka_conf_new();
  rd_kafka_conf_set(conf, "log_level", "0", error, sizeof error);
  client_ = rd_kafka_new(RD_KAFKA_PRODUCER, conf, error, sizeof error);
  if (!client_) throw std::runtime_error(std::string("kafka mock: ") + error);
  cluster_ = rd_kafka_mock_cluster_new(client_, brokers);
}

KafkaMock::~KafkaMock() {
  rd_kafka_mock_cluster_destroy(cluster_);
  rd_kafka_destroy(client_);
}

std::string KafkaMock::brokers() const { return rd_kafka_mock_cluster_bootstraps(cluster_); }

void KafkaMock::create_topic(const std::string& name, int partitions) {
  rd_kafka_mock_topic_create(cluster_, name.c_str(), partitions, 1);
}

void KafkaMock::fail_produce(std::initializer_list<rd_kafka_resp_err_t> errors) {
  rd_kafka_mock_push_request_errors_array(cluster_, kProduce, errors.size(), errors.begin());
}

void KafkaMock::topic_error(const std::string& name, rd_kafka_resp_err_t error) {
  rd_kafka_mock_topic_set_error(cluster_, name.c_str(), error);
}

// Answers keep their order on a connection: one that is delayed delays the rest.
void KafkaMock::hold_produce() {
  holding_ = true;
  for (int broker = 1; broker <= brokers_; ++broker) {
    rd_kafka_mock_broker_push_request_error_rtts(cluster_, broker, kProduce, 1, RD_KAFKA_RESP_ERR_NO_ERROR, kLong);
  }
}

void KafkaMock::release_produce() {
  if (!std::exchange(holding_, false)) return;
  use_up_delays();
  down();
  up();
}

// A delay that no request has met yet would meet the next one; there is no call that takes it back.
void KafkaMock::use_up_delays() {
  char error[256];
  rd_kafka_conf_t* conf = rd_kafka_conf_new();
  rd_kafka_conf_set(conf, "bootstrap.servers", brokers().c_str(), error, sizeof error);
  rd_kafka_conf_set(conf, "log_level", "0", error, sizeof error);
  rd_kafka_t* producer = rd_kafka_new(RD_KAFKA_PRODUCER, conf, error, sizeof error);
  for (int broker = 1; broker <= brokers_; ++broker) {
    const std::string topic = "delayed-" + std::to_string(broker);
    rd_kafka_mock_topic_create(cluster_, topic.c_str(), 1, 1);
    rd_kafka_mock_partition_set_leader(cluster_, topic.c_str(), 0, broker);
    const auto delays = [&] {
      std::size_t count = 0;
      rd_kafka_mock_broker_error_stack_cnt(cluster_, broker, kProduce, &count);
      return count;
    };
    if (delays() > 0) rd_kafka_producev(producer, RD_KAFKA_V_TOPIC(topic.c_str()), RD_KAFKA_V_END);
    while (delays() > 0) rd_kafka_poll(producer, 10);
  }
  rd_kafka_purge(producer, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
  rd_kafka_destroy(producer);
}

void KafkaMock::leaderless(const std::string& name, int partition) {
  rd_kafka_mock_partition_set_leader(cluster_, name.c_str(), partition, -1);
}

void KafkaMock::down() { rd_kafka_mock_broker_set_down(cluster_, -1); }

void KafkaMock::up() { rd_kafka_mock_broker_set_up(cluster_, -1); }

}  // namespace outbox::test
