#include "producer.h"

#include <cstdio>
#include <cstdlib>
#include <stdexcept>

namespace outbox::bench {

namespace {

void set(rd_kafka_conf_t* conf, const char* name, const std::string& value) {
  char error[256];
  if (rd_kafka_conf_set(conf, name, value.c_str(), error, sizeof error) != RD_KAFKA_CONF_OK) {
    throw std::runtime_error(error);
  }
}

// Called from C: nothing may be thrown.
void on_report(rd_kafka_t*, const rd_kafka_message_t* message, void*) {
  if (message->err == RD_KAFKA_RESP_ERR_NO_ERROR) return;
  std::fprintf(stderr, "bench: a message failed: %s\n", rd_kafka_err2str(message->err));
  std::abort();
}

void add(rd_kafka_headers_t* headers, std::string_view name, std::string_view value) {
  rd_kafka_header_add(headers, name.data(), static_cast<ssize_t>(name.size()), value.data(),
                      static_cast<ssize_t>(value.size()));
}

// The bytes that the daemon sends.
rd_kafka_headers_t* wire_headers(const Row& row) {
  rd_kafka_headers_t* headers = rd_kafka_headers_new(5);
  add(headers, "message-id", row.id);
  add(headers, "message-type", row.type);
  add(headers, "aggregate-type", row.aggregate_type);
  add(headers, "aggregate-id", row.aggregate_id);
  add(headers, "content-type", "application/json");
  return headers;
}

}  // namespace

Producer::Producer(const std::string& brokers, const std::string& topic, int queue_kb) {
  rd_kafka_conf_t* conf = rd_kafka_conf_new();
  set(conf, "bootstrap.servers", brokers);
  set(conf, "enable.idempotence", "true");
  set(conf, "acks", "all");
  set(conf, "linger.ms", "5");
  set(conf, "partitioner", "murmur2_random");
  if (queue_kb > 0) set(conf, "queue.buffering.max.kbytes", std::to_string(queue_kb));
  rd_kafka_conf_set_dr_msg_cb(conf, on_report);
  char error[256];
  client_ = rd_kafka_new(RD_KAFKA_PRODUCER, conf, error, sizeof error);
  if (client_ == nullptr) throw std::runtime_error(error);
  topic_ = rd_kafka_topic_new(client_, topic.c_str(), nullptr);
}

Producer::~Producer() {
  rd_kafka_topic_destroy(topic_);
  rd_kafka_destroy(client_);
}

void Producer::send(const Row& row) {
  rd_kafka_headers_t* headers = wire_headers(row);
  for (;;) {
    const auto error = rd_kafka_producev(client_, RD_KAFKA_V_RKT(topic_), RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY),
                                         RD_KAFKA_V_KEY(row.aggregate_id.data(), row.aggregate_id.size()),
                                         RD_KAFKA_V_VALUE(const_cast<char*>(row.payload.data()), row.payload.size()),
                                         RD_KAFKA_V_HEADERS(headers),
                                         RD_KAFKA_V_TIMESTAMP(row.created_us / 1000 + 946'684'800'000), RD_KAFKA_V_END);
    if (error == RD_KAFKA_RESP_ERR_NO_ERROR) return;
    if (error != RD_KAFKA_RESP_ERR__QUEUE_FULL) throw std::runtime_error(rd_kafka_err2str(error));
    rd_kafka_poll(client_, 10);
  }
}

void Producer::serve() { rd_kafka_poll(client_, 0); }

void Producer::flush() {
  if (rd_kafka_flush(client_, 120'000) != RD_KAFKA_RESP_ERR_NO_ERROR) throw std::runtime_error("Kafka takes too long");
}

}  // namespace outbox::bench
