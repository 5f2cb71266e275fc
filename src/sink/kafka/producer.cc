#include "sink/kafka/producer.h"

#include <fmt/core.h>

#include <bit>
#include <iterator>

namespace outbox::kafka {
namespace {

constexpr std::size_t kBatchHeader = 61;

// Length of a zigzag varint that holds a length.
std::size_t varint(std::size_t value) { return static_cast<std::size_t>(std::bit_width(value << 1 | 1) + 6) / 7; }

std::size_t sized(std::size_t bytes) { return varint(bytes) + bytes; }

std::int64_t milliseconds(Time time) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count();
}

}  // namespace

Producer::Producer(std::size_t batch_bytes, ClientHandle client)
    : batch_bytes_(batch_bytes), client_(std::move(client)), queue_(rd_kafka_queue_get_main(client_.get())) {}

Result<std::shared_ptr<Producer>> Producer::create(const ClientSettings& settings, std::size_t batch_bytes) {
  Result<ConfHandle> conf = producer_conf(settings, batch_bytes);
  if (!conf) return conf.failure();
  char error[512];
  ClientHandle client(rd_kafka_new(RD_KAFKA_PRODUCER, conf->get(), error, sizeof error));
  if (!client) {
    return Failure{FailureKind::invalid, fmt::format("sinks.{}: the Kafka client does not start: {}; check brokers and "
                                                     "client",
                                                     settings.sink, error)};
  }
  (void)conf->release();  // the client owns it now
  std::shared_ptr<Producer> producer(new Producer(batch_bytes, std::move(client)));
  rd_kafka_set_log_queue(producer->client(), producer->queue_.get());
  return producer;
}

TopicHandle Producer::topic(const std::string& name) {
  return TopicHandle(rd_kafka_topic_new(client_.get(), name.c_str(), nullptr));
}

rd_kafka_resp_err_t Producer::produce(rd_kafka_topic_t* topic, const Record& record, HeadersHandle headers,
                                      void* opaque) {
  // librdkafka takes void*, and reads only.
  void* payload = record.payload_null ? nullptr : const_cast<char*>(record.payload.data());
  const std::size_t size = record.payload_null ? 0 : record.payload.size();
  const rd_kafka_resp_err_t error =
      rd_kafka_producev(client_.get(), RD_KAFKA_V_RKT(topic), RD_KAFKA_V_MSGFLAGS(0), RD_KAFKA_V_VALUE(payload, size),
                        RD_KAFKA_V_KEY(record.aggregate_id.data(), record.aggregate_id.size()),
                        RD_KAFKA_V_TIMESTAMP(milliseconds(record.created_at)), RD_KAFKA_V_HEADERS(headers.get()),
                        RD_KAFKA_V_OPAQUE(opaque), RD_KAFKA_V_END);
  if (error == RD_KAFKA_RESP_ERR_NO_ERROR) (void)headers.release();
  return error;
}

EventHandle Producer::poll(std::chrono::milliseconds timeout) {
  return EventHandle(rd_kafka_queue_poll(queue_.get(), static_cast<int>(timeout.count())));
}

void Producer::wake() { rd_kafka_queue_yield(queue_.get()); }

void Producer::purge() { rd_kafka_purge(client_.get(), RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT); }

std::size_t Producer::unreported() const { return static_cast<std::size_t>(rd_kafka_outq_len(client_.get())); }

std::optional<std::string> Producer::fatal_error() const {
  char text[512];
  if (rd_kafka_fatal_error(client_.get(), text, sizeof text) == RD_KAFKA_RESP_ERR_NO_ERROR) return std::nullopt;
  return text;
}

void Producer::keep_until_destroyed(std::vector<RecordPtr> records) {
  kept_.insert(kept_.end(), std::make_move_iterator(records.begin()), std::make_move_iterator(records.end()));
}

HeadersHandle to_kafka(const HeaderList& headers) {
  HeadersHandle list(rd_kafka_headers_new(headers.size()));
  for (const auto& [name, value] : headers) {
    rd_kafka_header_add(list.get(), name.data(), static_cast<ssize_t>(name.size()), value.data(),
                        static_cast<ssize_t>(value.size()));
  }
  return list;
}

std::size_t batch_size(const Record& record, const HeaderList& headers) {
  std::size_t body = 3 + sized(record.aggregate_id.size()) + varint(headers.size());  // attributes, two zero deltas
  body += record.payload_null ? 1 : sized(record.payload.size());
  for (const auto& [name, value] : headers) body += sized(name.size()) + sized(value.size());
  return kBatchHeader + sized(body);
}

}  // namespace outbox::kafka
