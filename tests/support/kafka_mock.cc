#include "support/kafka_mock.h"

#include <stdexcept>

namespace outbox::test {
namespace {

constexpr std::int16_t kProduce = 0;

}  // namespace

KafkaMock::KafkaMock(int brokers) {
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

void KafkaMock::round_trip(int milliseconds) { rd_kafka_mock_broker_set_rtt(cluster_, -1, milliseconds); }

void KafkaMock::down() { rd_kafka_mock_broker_set_down(cluster_, -1); }

void KafkaMock::up() { rd_kafka_mock_broker_set_up(cluster_, -1); }

}  // namespace outbox::test
