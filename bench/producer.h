// librdkafka's producer as the daemon sets it (idempotent, acks=all, linger 5 ms, murmur2), and no bookkeeping.
#pragma once

#include <librdkafka/rdkafka.h>

#include <string>

#include "page_reader.h"

namespace outbox::bench {

class Producer {
 public:
  // `queue_kb` 0: librdkafka's default.
  Producer(const std::string& brokers, const std::string& topic, int queue_kb);
  ~Producer();
  Producer(const Producer&) = delete;
  Producer& operator=(const Producer&) = delete;

  void send(const Row& row);  // blocks while the queue is full
  void serve();               // takes what was confirmed
  void flush();

 private:
  rd_kafka_t* client_;
  rd_kafka_topic_t* topic_;
};

}  // namespace outbox::bench
