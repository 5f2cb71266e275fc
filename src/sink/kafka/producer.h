// Producer: one librdkafka producer and its event queue, until something makes it unusable. Then it is destroyed and
// another one takes its place.
//
// Payloads are not copied: a record handed to produce() must live until its delivery report was seen or the producer
// is gone. keep_until_destroyed() is for those whose report will never be.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/headers.h"
#include "model/record.h"
#include "sink/kafka/client_settings.h"
#include "sink/kafka/handles.h"

namespace outbox::kafka {

class Producer {
 public:
  static Result<std::shared_ptr<Producer>> create(const ClientSettings& settings, std::size_t batch_bytes);

  rd_kafka_t* client() { return client_.get(); }
  std::size_t batch_bytes() const { return batch_bytes_; }

  TopicHandle topic(const std::string& name);

  // Queues the record; never blocks. `opaque` comes back with the delivery report.
  rd_kafka_resp_err_t produce(rd_kafka_topic_t* topic, const Record& record, HeadersHandle headers, void* opaque);

  // Waits for an event; null after `timeout` (negative: none) or wake(). One thread.
  EventHandle poll(std::chrono::milliseconds timeout);
  void wake();

  // Throws away what is queued and in flight: each comes back as a failed delivery report.
  void purge();
  std::size_t unreported() const;

  // Why this producer can send nothing any more.
  std::optional<std::string> fatal_error() const;

  void keep_until_destroyed(std::vector<RecordPtr> records);

 private:
  Producer(std::size_t batch_bytes, ClientHandle client);

  std::size_t batch_bytes_;
  std::vector<RecordPtr> kept_;  // outlives client_, whose destruction drops the last pointers into them
  ClientHandle client_;
  QueueHandle queue_;
};

HeadersHandle to_kafka(const HeaderList& headers);

// What the record takes in a batch of its own, framing included, before compression.
std::size_t batch_size(const Record& record, const HeaderList& headers);

}  // namespace outbox::kafka
