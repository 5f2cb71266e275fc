// librdkafka's mock cluster: brokers on loopback that answer with the errors that a test pushes. Topics come into
// being when they are asked for. It checks no sequence numbers.
#pragma once

#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>

#include <initializer_list>
#include <string>

namespace outbox::test {

class KafkaMock {
 public:
  explicit KafkaMock(int brokers = 1);
  ~KafkaMock();
  KafkaMock(const KafkaMock&) = delete;
  KafkaMock& operator=(const KafkaMock&) = delete;

  std::string brokers() const;
  void create_topic(const std::string& name, int partitions);

  // The next produce requests are answered with these, in turn; __TRANSPORT drops the connection.
  void fail_produce(std::initializer_list<rd_kafka_resp_err_t> errors);
  // Produce requests are answered by nobody until release_produce(), which drops the connections.
  void hold_produce();
  void release_produce();
  void topic_error(const std::string& name, rd_kafka_resp_err_t error);
  void leaderless(const std::string& name, int partition);
  void down();
  void up();

 private:
  void use_up_delays();

  rd_kafka_t* client_;
  rd_kafka_mock_cluster_t* cluster_;
  int brokers_;
  bool holding_ = false;
};

}  // namespace outbox::test
